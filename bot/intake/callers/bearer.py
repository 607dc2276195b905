"""Look up the holder of a token for every request, so that a revoked token gives no access."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.intake.callers.caller import Caller
from core.approvals.routing.approvers import Approvers
from core.errors import StoreError, Unauthenticated
from core.model.access import VisibleAgents, effective
from core.model.identity import API_CHANNEL, Actor, Intake, Requester
from core.store import Store
from core.store.engine.clock import wall_ms
from core.store.people import token_text, tokens
from core.store.people.tokens import USE_IS_NOTED_AFTER_MS, Token

_log = logging.getLogger(__name__)
_AT_A_TERMINAL = ("uid:", "passkey:")
"""Prefixes of the creators of sessions that go back to a terminal here: a link, a passkey.

Every other creator is an account in a chat.
"""


@dataclass(frozen=True, slots=True)
class Bearers:
    """The holders of tokens; nothing about them is cached in memory.

    ``approvers`` returns the lists that restrict a session from a chat's ``/login``; without them
    it sees nothing.
    """

    store: Store
    approvers: Callable[[], Approvers] = lambda: Approvers({})

    async def caller(self, text: str, intake: Intake) -> Caller:
        """Return the holder of this token. Call it for each request and each frame.

        Raises:
            Unauthenticated: it is not a token, or it is unknown, expired or revoked.
            StoreError: that cannot be determined now, so access is refused.
        """
        return caller_of(await self._live(text, is_session=False), intake)

    async def visitor(self, text: str, intake: Intake) -> Caller:
        """Return the person whose session of the control page this is. Call it for each request.

        A session is never accepted as an API token, nor the other way round: what leaks from one
        place is of no use in the other.

        Raises:
            Unauthenticated: it is not a session, or it is unknown, expired or revoked.
            StoreError: that cannot be determined now, so access is refused.
        """
        token = await self._live(text, is_session=True)
        return replace(caller_of(token, intake), visible=self._visible(token))

    def _visible(self, token: Token) -> VisibleAgents | None:
        """Return what a session may see; one of a chat account sees only what that approves."""
        if token.by.startswith(_AT_A_TERMINAL):
            return None
        channel, _, account = token.by.partition(":")
        actors = (Actor(channel, account), Actor(API_CHANNEL, token.id))
        found = self.approvers().visible(actors, token.person)
        return None if found.is_whole else found

    async def _live(self, text: str, *, is_session: bool) -> Token:
        if not token_text.is_token(text):
            raise Unauthenticated
        token = await self.store.read(tokens.holder, token_text.digest(text))
        if token is None or (token.browser is not None) is not is_session:
            raise Unauthenticated
        await self._note_use(token)
        return token

    async def _note_use(self, token: Token) -> None:
        if token.used_ms is not None and wall_ms() - token.used_ms < USE_IS_NOTED_AFTER_MS:
            return
        try:
            await self.store.write(tokens.used, token.id)
        except StoreError as failure:
            # A full disk must not keep people from seeing what is wrong.
            _log.warning("cannot record the use of token %s: %s", token.id, failure)


def caller_of(token: Token, intake: Intake) -> Caller:
    """Return what the holder of a token may do: as an agent, as a person, or as neither."""
    name = token.name if token.browser is None else str(token.person)
    person = None if token.person is None else Actor(API_CHANNEL, token.id, name)
    return Caller(
        requester=Requester(intake, token.ref),
        actor=person,
        scopes=effective(token.scopes, token.agent, token.person),
        agents=None if token.agent is None else frozenset({token.agent}),
        token=token.id,
        until_ms=token.expires_ms,
    )

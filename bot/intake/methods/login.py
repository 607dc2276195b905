"""Make one-time links to the control page, and list and end the sessions made by them.

A link grants rights, as a token does, so it takes a person at a terminal of this machine
(docs/decisions/0009). A person sees and ends their own sessions; over the socket, all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.people import PERSON, RULES
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import Name, NoParams, Params
from bot.intake.results.answer import ChangeAnswer, safe
from bot.intake.results.people import LinkAnswer, PageSessionsAnswer, TokenAnswer
from core.errors import NotFound
from core.model.access import PEOPLES_SCOPES, Scope
from core.ports import Journal
from core.store import Store
from core.store.people import page_links, tokens
from core.store.people.tokens import Token, TokenState

LOGIN_PATH = "/login/"
"""The path of a link on the control page, before its secret part."""
_SCOPES = frozenset({Scope.APPROVE, Scope.READ})


class LoginParams(Params):
    """``page.login``: whose session it is, and whether it may change rules."""

    person: Name | None = Field(
        default=None, description="who signs in; without it, the only person there is"
    )
    admin: bool = Field(
        default=False, description="the session may also change exec-approvals.json and the like"
    )


class SessionRefParams(Params):
    """``page.end``: one session of the control page."""

    id: Name = Field(description="the session's id")
    revoke: bool = Field(
        default=False,
        description="revoke it, as a stolen one: what it allowed and still waits for more people "
        "counts no more",
    )


@dataclass(frozen=True, slots=True)
class LoginMethods(Group):
    """The methods about signing in; ``page_url`` is where the page is, empty if it is off.

    ``config`` is the file that turns it on.
    """

    store: Store
    journal: Journal
    askers: Askers
    page_url: Callable[[], str]
    config: str

    @handles(
        "page.login",
        RULES,
        "Create a one-time link to the control page, valid for ten minutes.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def login(self, params: LoginParams, caller: Caller) -> LinkAnswer:
        """Make a link, for a person at a terminal."""
        base = self.page_url()
        if not base:
            why = (
                f"The control page is off: set http.enabled to true in {safe(self.config)} and "
                "restart the gateway."
            )
            return LinkAnswer.of(why, done=False)
        why_not = await self.askers.refusal(caller)
        if why_not is not None:
            return LinkAnswer.of(why_not, done=False)
        scopes = _SCOPES | {Scope.ADMIN} if params.admin else _SCOPES
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "create",
            "person": safe(params.person or ""),
            "scopes": sorted(scopes),
        }
        await self.journal.append("page link", record)
        made = await self.store.write(page_links.create, params.person, scopes, caller.ref)
        return LinkAnswer(
            done=True,
            sentence=f"A link for {safe(made.person)}: open it once, within 10 minutes.",
            url=f"{base}{LOGIN_PATH}{made.secret}",
            person=safe(made.person),
            expires_ms=made.expires_ms,
        )

    @handles(
        "page.sessions",
        PEOPLES_SCOPES,
        "List the live sessions of the control page: a person's own, or all.",
        note="over the network a person's own",
    )
    async def sessions(self, _params: NoParams, caller: Caller) -> PageSessionsAnswer:
        """List the sessions that the caller may know of."""
        found = await self._visible(caller)
        return PageSessionsAnswer(sessions=[TokenAnswer.of(one) for one in found])

    @handles(
        "page.end",
        PEOPLES_SCOPES,
        "Sign out a session of the control page, or revoke it.",
        note="over the network a person's own",
    )
    async def end(self, params: SessionRefParams, caller: Caller) -> ChangeAnswer:
        """End a session.

        Raises:
            NotFound: the caller knows of no live session with this id.
        """
        found = await self._visible(caller)
        session = next((one for one in found if params.id == one.id), None)
        if session is None:
            raise NotFound("No such session is signed in. Nothing was changed.")
        what = "revoke" if params.revoke else "sign out"
        record: dict[str, object] = {"by": caller.ref, "what": what, "name": safe(session.name)}
        await self.journal.append("page session", record)
        if params.revoke:
            await self.store.write(tokens.revoke, session.id)
            return ChangeAnswer.of("The session is revoked.")
        done = await self.store.write(tokens.sign_out, session.id)
        return ChangeAnswer.of("Signed out." if done else "It had ended already.", done=done)

    async def _visible(self, caller: Caller) -> tuple[Token, ...]:
        """Return the live sessions: all to a local process, else those of the caller's person."""
        known = await self.store.read(tokens.listed)
        live = [one for one in known if one.browser and one.state is TokenState.LIVE]
        if caller.peer is not None:
            return tuple(live)
        own = next((one.person for one in known if one.id == caller.token), None)
        return tuple(one for one in live if own is not None and one.person == own)

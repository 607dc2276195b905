"""Make, list and revoke the tokens of callers over the network.

Making one grants rights, so it takes a person at a terminal of this machine (docs/decisions/0009),
and no token can make another. Revoking takes rights away, so every local process may.
"""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.methods.people import PERSON, RULES
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import Name, NoParams, Params
from bot.intake.results.answer import ChangeAnswer, safe
from bot.intake.results.people import NewTokenAnswer, TokenAnswer, TokensAnswer
from core.errors import NotFound
from core.model.access import Scope
from core.ports import Journal
from core.store import Store
from core.store.people import tokens
from core.store.people.tokens import TokenDraft

_LONGEST_S = 10 * 366 * 86_400
_SHORTEST_S = 60


class TokenParams(Params):
    """``token.create``: a name, scopes, and its owner."""

    name: Name = Field(description="what it is for; no two live tokens share one")
    scopes: Annotated[tuple[Annotated[Scope, Field(strict=False)], ...], Field(strict=False)] = (
        Field(description="what it may do: request, approve, admin, read")
    )
    agent: Name | None = Field(default=None, description="the agent that asks with it")
    person: Name | None = Field(default=None, description="the person who approves with it")
    expires_s: Annotated[int, Field(ge=_SHORTEST_S, le=_LONGEST_S)] | None = Field(
        default=None, description="how long it lasts, in seconds; without it, until revoked"
    )


class TokenRefParams(Params):
    """``token.revoke``: a token's name or id."""

    token: Name = Field(description="a token's name or id")


@dataclass(frozen=True, slots=True)
class TokenMethods(Group):
    """The methods about tokens; each change is in the journal, but never a token's text."""

    store: Store
    journal: Journal
    askers: Askers

    @handles(
        "token.create",
        RULES,
        "Create a token; its text is shown only once.",
        note=f"only from a {PERSON}",
        local=True,
    )
    async def create(self, params: TokenParams, caller: Caller) -> NewTokenAnswer:
        """Make a token, for a person at a terminal."""
        why = await self.askers.refusal(caller)
        if why is not None:
            return NewTokenAnswer.of(why, done=False)
        draft = TokenDraft(
            name=params.name,
            scopes=frozenset(params.scopes),
            agent=params.agent,
            person=params.person,
            by=caller.ref,
            life_ms=None if params.expires_s is None else params.expires_s * 1000,
        )
        await self._record(
            caller,
            "create",
            draft.name,
            scopes=sorted(draft.scopes),
            agent=safe(draft.agent or ""),
            person=safe(draft.person or ""),
        )
        made = await self.store.write(tokens.create, draft)
        sentence = f"Token {made.token.name} was created. Save it now: it cannot be shown again."
        return NewTokenAnswer(done=True, sentence=safe(sentence), token=made.text, id=made.token.id)

    @handles("token.list", RULES, "List the tokens, without their values.")
    async def listed(self, _params: NoParams, _caller: Caller) -> TokensAnswer:
        """List what is known about each token."""
        found = await self.store.read(tokens.listed)
        return TokensAnswer(tokens=[TokenAnswer.of(one) for one in found])

    @handles("token.revoke", RULES, "Revoke a token permanently.", urgent=True)
    async def revoke(self, params: TokenRefParams, caller: Caller) -> ChangeAnswer:
        """End a token; every local process may call this.

        Raises:
            NotFound: no token has this name.
        """
        meant = await self.store.read(tokens.meant, params.token)
        if meant is None:
            raise _unknown(params.token)
        await self._record(caller, "revoke", meant.name)
        gone = await self.store.write(tokens.revoke, meant.id)
        if gone is None:
            raise _unknown(params.token)
        return ChangeAnswer.of(f"Token {gone.name} is revoked and no longer valid.")

    async def _record(self, caller: Caller, what: str, name: str, **more: object) -> None:
        record = {"by": caller.ref, "what": what, "name": safe(name), **more}
        await self.journal.append("token", record)


def _unknown(ref: str) -> NotFound:
    words = f"No token is called {ref!r}, so nothing was revoked; see `sayso token list`."
    return NotFound(safe(words))

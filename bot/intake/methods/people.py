"""Serve the people directory (docs/decisions/0009).

Any local peer may look, and may take rights away. What could give rights (adding, pairing,
unlinking, restoring) counts only from a person at a terminal, or over the network from a token with
the scope ``admin``.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.callers.terminal import Askers
from bot.intake.registry.method import AnyMethod, Method, P
from bot.intake.registry.params import Name, NoParams, Params
from bot.intake.results import results
from core.gate import Gate
from core.model.access import PEOPLES_SCOPES, Scope
from core.store.people import pairing, people

RULES = frozenset({Scope.ADMIN})
CHANGE = '`{"done", "sentence"}`'
PERSON = "[person at a terminal](../decisions/0009-people-over-the-socket.md)"
TYPED = f"; on the socket only from a {PERSON}"


class NameParams(Params):
    """A method about a named person."""

    name: Name = Field(description="a person's name")


class WhoParams(Params):
    """A method about a person, or about one account such as ``telegram:42``."""

    who: Name = Field(description="a person's name, or `channel:account`")


class AccountParams(Params):
    """A method about one account: ``telegram:42``."""

    account: Annotated[
        str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f:]+:[^\x00-\x1f\x7f]+$")
    ] = Field(description="`channel:account`")


@dataclass(frozen=True, slots=True)
class PeopleMethods:
    """The methods about people; each change is in the journal."""

    gate: Gate
    askers: Askers

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="people.list",
                params=NoParams,
                scopes=PEOPLES_SCOPES,
                handler=self.listed,
                summary="List the people with their accounts.",
                answer='`{"people": [{"id", "revoked", "accounts"}]}`',
            ),
            _change("add", NameParams, self.add, "Add a person", CHANGE + TYPED),
            _change(
                "pair",
                NameParams,
                self.pair,
                "Create a code that links the account that sends it",
                f"the same with `code`, `expiresMs`{TYPED}",
            ),
            _change(
                "unlink",
                AccountParams,
                self.unlink,
                "Unlink an account from its person",
                CHANGE + TYPED,
            ),
            _change(
                "revoke",
                WhoParams,
                self.revoke,
                "Revoke a person's or an account's right to approve",
                CHANGE,
            ),
            _change(
                "restore",
                WhoParams,
                self.restore,
                "Restore a revoked right to approve",
                CHANGE + TYPED,
            ),
        )

    async def listed(self, _params: NoParams, _caller: Caller) -> object:
        """List the people with their accounts."""
        found = await self.gate.store.read(people.listed)
        return {"people": [results.person(one) for one in found]}

    async def add(self, params: NameParams, caller: Caller) -> object:
        """Add a person."""
        name = params.name
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "add", name)
        if await self.gate.store.write(people.add, name):
            return results.change(f"{name} was added. Next: `sayso people pair {name}`.")
        return results.change(f"{name} already exists.")

    async def pair(self, params: NameParams, caller: Caller) -> object:
        """Create a code that links the account that sends it; it is shown this once."""
        name = params.name
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "pair", name)
        drawn = await self.gate.store.write(pairing.begin, name)
        if drawn is None:
            return results.change(f"No person is named {name}; add one first.", done=False)
        sentence = (
            f"Send `/pair {drawn.code}` from the account to link, within "
            f"{pairing.CODE_LIFE_MS // 60_000} minutes. The first account to send it becomes "
            f"{name}'s."
        )
        return {
            **results.change(sentence),
            "code": drawn.code,
            "expiresMs": drawn.expires_ms,
        }

    async def unlink(self, params: AccountParams, caller: Caller) -> object:
        """Unlink an account from its person; it counts as a person of its own from then on."""
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "unlink", params.account)
        channel, _, account = params.account.partition(":")
        person = await self.gate.store.write(people.unlink, channel, account)
        if person is None:
            return results.change(f"{params.account} is not linked.", done=False)
        return results.change(f"{params.account} is {person}'s account no longer.")

    async def revoke(self, params: WhoParams, caller: Caller) -> object:
        """Let nobody, or no account, of this name answer any more; every local process may."""
        who = params.who
        # An account may be one that nobody has linked; a name must be somebody's.
        if ":" not in who and not await self.gate.store.read(people.exists, who):
            return _nobody(who)
        await self._record(caller, "revoke", who)
        if await self.gate.store.write(people.revoke, who):
            return results.change(f"{who} is revoked: answers and earlier votes no longer count.")
        return _nobody(who)

    async def restore(self, params: WhoParams, caller: Caller) -> object:
        """Let a person's or an account's answers count again."""
        who = params.who
        refusal = await self._refusal(caller)
        if refusal is not None:
            return refusal
        await self._record(caller, "restore", who)
        if await self.gate.store.write(people.restore, who):
            return results.change(f"{who} may approve again where listed.")
        return results.change(f"{who} is not revoked.", done=False)

    async def _refusal(self, caller: Caller) -> dict[str, object] | None:
        why = await self.askers.refusal(caller)
        return None if why is None else results.change(why, done=False)

    async def _record(self, caller: Caller, what: str, whom: str) -> None:
        record: dict[str, object] = {"by": caller.ref, "what": what, "whom": results.safe(whom)}
        await self.gate.journal.append("people", record)


def _nobody(who: str) -> results.Json:
    return results.change(f"There is no {who}; see `sayso people list`.", done=False)


def _change(
    name: str,
    params: type[P],
    handler: Callable[[P, Caller], Awaitable[object]],
    summary: str,
    answer: str,
) -> Method[P]:
    return Method(f"people.{name}", params, RULES, handler, f"{summary}.", answer)

"""Serve what people allowed for a while."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from bot.intake import results
from bot.intake.caller import Caller
from bot.intake.frames import AgentParams, Name, Params
from bot.intake.methods import AnyMethod, Method
from bot.intake.people import CHANGE
from bot.intake.questions import READS
from core.gate import Gate
from core.gate.previews import Previews
from core.model.access import PEOPLES_SCOPES
from core.model.identity import CODE_LENGTH
from core.store import grants
from core.store.grants import Grant

_NONE = "No such grant holds, so nothing was revoked; `sayso grants list` names them."


class GrantParams(Params):
    """A method about one grant."""

    id: Name = Field(description="a grant's id or code")


@dataclass(frozen=True, slots=True)
class GrantMethods:
    """The methods about grants; each end is in the journal."""

    gate: Gate

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="grants.list",
                params=AgentParams,
                scopes=READS,
                handler=self.listed,
                summary="List what people allowed for a while and what still holds.",
                answer=(
                    '`{"grants": [{"id", "code", "agent", "session", "promise", "by", '
                    '"expiresMs", "usesLeft", "usedMs", "preview", …}]}`; `preview` is `{"looked",'
                    ' "matched", "denied", "sentence"}` over the agent\'s last 500 commands, or '
                    "`null`"
                ),
            ),
            Method(
                name="grants.revoke",
                params=GrantParams,
                scopes=PEOPLES_SCOPES,
                handler=self.revoke,
                summary="End a grant at once.",
                answer=CHANGE,
            ),
        )

    async def listed(self, wish: AgentParams, _caller: Caller) -> object:
        """List the grants that hold, with what each would have matched."""
        rulebook, store = self.gate.rulebook, self.gate.store
        found = await store.read(grants.listed, rulebook.idle_ms)
        kept = tuple(one for one in found if wish.agent in {None, one.agent})
        previews = await Previews(store, rulebook).of_grants(kept)
        return {"grants": [results.grant(one, previews.get(one.id)) for one in kept]}

    async def revoke(self, wish: GrantParams, caller: Caller) -> object:
        """End a grant; every local process may call this."""
        if not _named(wish.id, await self.gate.store.read(grants.listed)):
            return results.change(_NONE, done=False)
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "revoke grant",
            "whom": results.safe(wish.id),
        }
        await self.gate.journal.append("people", record)
        if await self.gate.store.write(grants.revoke, wish.id):
            return results.change(
                f"Grant {wish.id.upper()[:6]} is revoked; people are asked again."
            )
        return results.change(_NONE, done=False)


def _named(ref: str, holding: Iterable[Grant]) -> bool:
    head = ref.strip().lower()
    return len(head) >= CODE_LENGTH and any(one.id.startswith(head) for one in holding)

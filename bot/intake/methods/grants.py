"""Serve what people allowed for a while."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.people import CHANGE
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import AgentParams, Name, Params, TaskName
from bot.intake.results import results
from core.gate import Gate
from core.gate.grant_preview import Previews
from core.model.access import PEOPLES_SCOPES
from core.model.identity import CODE_LENGTH, AgentId, TaskId
from core.store.approvals import grants
from core.store.approvals.grants import Grant

_NONE = "No such active grant, so nothing was revoked; see `sayso grants list`."
_NO_TASK = "Task {} has no active grants, so nothing was revoked; see `sayso grants list`."


class GrantParams(Params):
    """A method about one grant."""

    id: Name = Field(description="a grant's id or code")


class TaskParams(AgentParams):
    """``tasks.end``: a task, of one agent or of all."""

    task: TaskName = Field(description="the task, as requests name it")


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
                summary="List the active temporary grants.",
                answer=(
                    '`{"grants": [{"id", "code", "agent", "session", "task", "promise", '
                    '"by", "expiresMs", "usesLeft", "usedMs", "preview", …}]}`; `preview` is '
                    '`{"looked", "matched", "denied", "sentence"}` over the agent\'s last 500 '
                    "commands, or `null`"
                ),
            ),
            Method(
                name="grants.revoke",
                params=GrantParams,
                scopes=PEOPLES_SCOPES,
                handler=self.revoke,
                summary="Revoke a grant.",
                answer=CHANGE,
            ),
            Method(
                name="tasks.end",
                params=TaskParams,
                scopes=PEOPLES_SCOPES,
                handler=self.end_task,
                summary="Revoke every grant of a task.",
                answer=CHANGE,
            ),
        )

    async def listed(self, params: AgentParams, _caller: Caller) -> object:
        """List the grants that hold, with what each would have matched."""
        rulebook, store = self.gate.rulebook, self.gate.store
        found = await store.read(grants.listed, rulebook.idle_ms)
        kept = tuple(one for one in found if params.agent in {None, one.agent})
        previews = await Previews(store, rulebook).of_grants(kept)
        return {"grants": [results.grant(one, previews.get(one.id)) for one in kept]}

    async def revoke(self, params: GrantParams, caller: Caller) -> object:
        """End a grant; every local process may call this."""
        if not _named(params.id, await self.gate.store.read(grants.listed)):
            return results.change(_NONE, done=False)
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "revoke grant",
            "whom": results.safe(params.id),
        }
        await self.gate.journal.append("people", record)
        if await self.gate.store.write(grants.revoke, params.id):
            return results.change(
                f"Grant {params.id.upper()[:6]} is revoked; people are asked again."
            )
        return results.change(_NONE, done=False)

    async def end_task(self, params: TaskParams, caller: Caller) -> object:
        """End what was allowed for a task; every local process may call this, for it only narrows.

        The name may be used again: what people allow for it from then on holds.
        """
        task, agent = TaskId(params.task), None if params.agent is None else AgentId(params.agent)
        held = await self.gate.store.read(grants.listed)
        if not any(one.task == task and agent in {None, one.agent} for one in held):
            return results.change(_NO_TASK.format(task), done=False)
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "end task",
            "whom": results.safe(task),
            **({} if agent is None else {"agent": results.safe(agent)}),
        }
        await self.gate.journal.append("people", record)
        ended = await self.gate.store.write(grants.end_task, task, agent)
        if not ended:
            return results.change(_NO_TASK.format(task), done=False)
        codes = ", ".join(grant.code for grant in ended)
        return results.change(
            f"Task {task} has ended. Revoked with it: {codes}; people are asked again."
        )


def _named(ref: str, holding: Iterable[Grant]) -> bool:
    head = ref.strip().lower()
    return len(head) >= CODE_LENGTH and any(one.id.startswith(head) for one in holding)

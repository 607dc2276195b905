"""Serve the grants: what people allowed for a while."""

from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import Field

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import AgentParams, Name, Params, TaskName
from bot.intake.results.answer import ChangeAnswer, safe
from bot.intake.results.rules import GrantAnswer, GrantsAnswer
from core.errors import NotFound
from core.gate.effective_policy import Rulebook
from core.gate.grant_preview import Previews
from core.model.access import PEOPLES_SCOPES
from core.model.identity import CODE_LENGTH, AgentId, TaskId, code_of
from core.ports import Journal
from core.store import Store
from core.store.approvals import grants
from core.store.approvals.grants import Grant

_NONE = "No active grant has the id or code {!a}, so nothing was revoked; see `sayso grants list`."
_NO_TASK = "Task {!r} has no active grants, so nothing was revoked; see `sayso grants list`."


class GrantParams(Params):
    """A method about one grant."""

    id: Name = Field(description="a grant's id or code")


class TaskParams(AgentParams):
    """``tasks.end``: a task, of one agent or of all."""

    task: TaskName = Field(description="the task, as requests name it")


@dataclass(frozen=True, slots=True)
class GrantMethods(Group):
    """The methods about grants; each end is in the journal."""

    store: Store
    rulebook: Rulebook
    journal: Journal

    @handles("grants.list", READS, "List the active temporary grants.", filters=True)
    async def listed(self, params: AgentParams, caller: Caller) -> GrantsAnswer:
        """List the grants in effect, with what each would have matched."""
        found = await self.store.read(grants.listed, self.rulebook.idle_ms)
        own = (one for one in found if params.agent in {None, one.agent})
        kept = tuple(one for one in own if caller.sees(one.agent))
        previews = await Previews(self.store, self.rulebook).of_grants(kept)
        shown = [GrantAnswer.of(one, previews.get(one.id)) for one in kept]
        return GrantsAnswer(grants=shown)

    @handles("grants.revoke", PEOPLES_SCOPES, "Revoke a grant.", urgent=True)
    async def revoke(self, params: GrantParams, caller: Caller) -> ChangeAnswer:
        """End a grant; every local process may call this.

        Raises:
            NotFound: no grant in effect has this name.
        """
        held = await self.store.read(grants.listed)
        if not _named(params.id, (one for one in held if caller.sees(one.agent))):
            raise NotFound(safe(_NONE.format(params.id)))
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "revoke grant",
            "whom": safe(params.id),
        }
        await self.journal.append("people", record)
        if await self.store.write(grants.revoke, params.id):
            return ChangeAnswer.of(
                f"Grant {code_of(params.id)} is revoked; people are asked again."
            )
        raise NotFound(safe(_NONE.format(params.id)))

    @handles("tasks.end", PEOPLES_SCOPES, "Revoke every grant of a task.")
    async def end_task(self, params: TaskParams, caller: Caller) -> ChangeAnswer:
        """End what was allowed for a task; every local process may call this, as it only narrows.

        The name may be used again: what people allow for it afterwards is valid.

        Raises:
            NotFound: no grant in effect belongs to it.
        """
        task, agent = TaskId(params.task), None if params.agent is None else AgentId(params.agent)
        held = await self.store.read(grants.listed)
        if not any(one.task == task and agent in {None, one.agent} for one in held):
            raise NotFound(_NO_TASK.format(task))
        record: dict[str, object] = {
            "by": caller.ref,
            "what": "end task",
            "whom": safe(task),
            **({} if agent is None else {"agent": safe(agent)}),
        }
        await self.journal.append("people", record)
        ended = await self.store.write(grants.end_task, task, agent)
        if not ended:
            raise NotFound(_NO_TASK.format(task))
        codes = ", ".join(grant.code for grant in ended)
        return ChangeAnswer.of(
            f"Task {task!r} has ended. Revoked with it: {codes}; people are asked again."
        )


def _named(ref: str, holding: Iterable[Grant]) -> bool:
    head = ref.strip().lower()
    return len(head) >= CODE_LENGTH and any(one.id.startswith(head) for one in holding)

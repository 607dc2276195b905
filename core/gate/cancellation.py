"""Cancel a request at any moment: while people are asked, before it starts, and while it runs."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field

from core.gate import journal_records, record
from core.gate.execution import Execution
from core.gate.run_status import Waiters
from core.gate.two_judges import NodePlanning
from core.model.approval import ApprovalState
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied
from core.ports import Journal
from core.store import Store, approvals
from core.store.runs import runs

_MOST_STOPPED = 1_000
"""Runs for which it is known who ended them."""


@dataclass(slots=True)
class Cancellation:
    """The cancellations of one gateway; ``running`` are the runs that have begun here."""

    store: Store
    journal: Journal
    execution: Execution
    nodes: NodePlanning | None
    waiters: Waiters
    running: Mapping[ApprovalId, ExecPlan]
    _stopped: dict[ApprovalId, str] = field(default_factory=dict)
    _withdrawing: set[ApprovalId] = field(default_factory=set)

    async def cancel(self, run_id: ApprovalId, note: str) -> bool:
        """Withdraw a question or end a running command; ``False`` if there is nothing to cancel."""
        plan = self.running.get(run_id)
        if plan is not None:
            return await self._stop(run_id, note, self.execution.cancel(run_id, plan))
        if self.nodes is not None and await self._stop(run_id, note, self.nodes.cancel(run_id)):
            return True
        asked = await self.store.read(approvals.get, run_id)
        if asked is None:
            return False
        if asked.resolution is not None:
            return await self._stop(run_id, note, self._withdraw_run(run_id, note))
        return await self._withdraw_question(run_id, note)

    def is_withdrawing(self, run_id: ApprovalId) -> bool:
        """Return whether an allowed run is being cancelled, so that it must not start."""
        return run_id in self._withdrawing

    def stopped(self, run_id: ApprovalId) -> str:
        """Return who ended a running command, in words; empty where nobody did, or not here."""
        return self._stopped.get(run_id, "")

    async def _stop(self, run_id: ApprovalId, note: str, ending: Awaitable[bool]) -> bool:
        """End a running command; who did it is recorded before anyone is notified of the end."""
        known = self._stopped.setdefault(run_id, note)
        if not await ending:
            if known is note:
                del self._stopped[run_id]
            return False
        await self.journal.append("stop", journal_records.stopped(run_id, note))
        while len(self._stopped) > _MOST_STOPPED:
            del self._stopped[next(iter(self._stopped))]
        return True

    async def _withdraw_question(self, run_id: ApprovalId, note: str) -> bool:
        withdrawn = await self.store.write(approvals.cancel, run_id, note)
        end = None if withdrawn is None else withdrawn.resolution
        if withdrawn is None or end is None or end.state is not ApprovalState.CANCELLED:
            return False  # somebody answered at this very moment
        await record.end(self.store, self.journal, withdrawn)
        return True

    async def _withdraw_run(self, run_id: ApprovalId, note: str) -> bool:
        """End what people allowed and nobody has started; what begins here meanwhile is ended."""
        plan = self.running.get(run_id)
        if plan is not None:
            return await self.execution.cancel(run_id, plan)
        why = f"it was cancelled before it started: {note}"
        self._withdrawing.add(run_id)  # the journal must not have a start after this end
        try:
            if not await self.store.write(runs.withdraw, run_id, why):
                return False
            reason = DenialReason.CANCELLED
            await self.journal.append("refuse", {"run": run_id, "reason": reason, "why": why})
        finally:
            self._withdrawing.discard(run_id)
        self.waiters.settle(run_id, Denied(run_id, reason, why))
        return True

"""Cancel a request at any moment: while people are asked, before it starts, and while it runs."""

from collections import Counter
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from functools import partial

from core.errors import CommitInDoubt
from core.gate.execution import Execution
from core.gate.journal import ends, journal_records
from core.gate.journal.doubts import Doubts
from core.gate.journal.lasting_journal import LastingJournal
from core.gate.run_status import Waiters
from core.gate.two_judges import NodePlanning
from core.model.approval import ApprovalState
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied
from core.ports import Journal
from core.store import Store, approvals
from core.store.runs import outcomes, runs
from core.store.schema.json_columns import plain

_MOST_STOPPED = 1_000
"""Runs for which it is known that they were cancelled, and by whom."""


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
    _accepted: dict[ApprovalId, str] = field(default_factory=dict)
    _withdrawing: Counter[ApprovalId] = field(default_factory=Counter)
    _withdrawn: dict[ApprovalId, None] = field(default_factory=dict)

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

    def forbids(self, run_id: ApprovalId) -> bool:
        """Return whether an allowed run was cancelled, or is being, so that it must not start.

        Whoever starts it may have read the queue before that.
        """
        return run_id in self._withdrawing or run_id in self._accepted

    async def enforce(self, run_id: ApprovalId) -> None:
        """End an allowed run that was cancelled and is queued all the same.

        That is one whose claim was in doubt: the database failed when it was cancelled.

        Raises:
            StoreError: it is still queued.
        """
        note = self._accepted.get(run_id)
        if note is not None and run_id not in self._withdrawing:
            await self._withdraw_run(run_id, note)

    def stopped(self, run_id: ApprovalId) -> str:
        """Return who ended a running command, in words; empty where nobody did, or not here."""
        return self._stopped.get(run_id, "")

    async def _stop(self, run_id: ApprovalId, note: str, ending: Awaitable[bool]) -> bool:
        """End a running command; who did it is recorded before anyone is notified of the end.

        Several who do it at once end it once, and the first one is recorded.
        """
        by = self._stopped.setdefault(run_id, note)
        accepted = False
        try:
            accepted = await ending
        finally:
            if not accepted and by is note and run_id not in self._accepted:
                self._stopped.pop(run_id, None)
        if not accepted:
            return False
        by = self._stopped.setdefault(run_id, note)
        if run_id in self._accepted:
            return True
        self._accepted[run_id] = by
        await self.execution.deferred.append("stop", journal_records.stopped(run_id, by))
        for known in (self._stopped, self._accepted, self._withdrawn):
            _forget_first(known)
        return True

    async def _withdraw_question(self, run_id: ApprovalId, note: str) -> bool:
        with Doubts(self.store, self.execution.deferred).recorded():
            withdrawn = await self.store.write(approvals.cancel, run_id, note)
        if withdrawn is None:
            return False
        if withdrawn.now:
            lasting = LastingJournal(self.journal, self.execution.deferred)
            await ends.end(self.store, lasting, withdrawn.approval)
        end = withdrawn.approval.resolution  # somebody may have answered at this very moment
        return end is not None and end.state is ApprovalState.CANCELLED

    async def _withdraw_run(self, run_id: ApprovalId, note: str) -> bool:
        """End what people allowed and nobody has started; what begins here meanwhile is ended."""
        plan = self.running.get(run_id)
        if plan is not None:
            return await self.execution.cancel(run_id, plan)
        why = plain(f"it was cancelled before it started: {note}")
        denied = Denied(run_id, DenialReason.CANCELLED, why)
        self._withdrawing[run_id] += 1  # the journal must not have a start after this end
        try:
            if not await self.store.write(runs.withdraw, run_id, denied.why):
                return False
            self._withdrawn[run_id] = None
            await self._record(denied)
        except CommitInDoubt as doubt:
            if doubt.made is True:
                self.execution.deferred.complete(partial(self._record_if_stored, denied))
            raise
        finally:
            self._withdrawing[run_id] -= 1
            self._withdrawing += Counter()  # without those at zero
        self.waiters.settle(run_id, denied)
        return True

    async def _record(self, denied: Denied) -> None:
        refusal: dict[str, object] = {
            "run": denied.run_id,
            "reason": denied.reason,
            "why": denied.why,
        }
        await self.execution.deferred.append("refuse", refusal)

    async def _record_if_stored(self, denied: Denied) -> None:
        """Record a withdrawal whose commit was in doubt, unless it was repeated and took effect."""
        stored = await self.store.write(outcomes.settled, denied.run_id)
        if stored == denied and denied.run_id not in self._withdrawn:
            await self._record(denied)


def _forget_first(known: dict[ApprovalId, str] | dict[ApprovalId, None]) -> None:
    while len(known) > _MOST_STOPPED:
        del known[next(iter(known))]

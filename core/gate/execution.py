"""Claim, run and report; at most once, whatever dies in the meantime."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import (
    CancelledFirst,
    HostUnavailable,
    JournalError,
    LockedDown,
    PlanDrift,
    SaysoError,
    SpawnError,
    Stopping,
    StoreError,
)
from core.gate.claims import Claim
from core.gate.guards.spawn_guard import Guard
from core.gate.journal import journal_records
from core.gate.journal.deferred import Deferred
from core.hosts.failures import reason_of
from core.model.command import ExecPlan
from core.model.decision import Basis, DenialReason
from core.model.identity import ApprovalId, Requester
from core.model.policy import ExecHost
from core.model.result import Denied, ExecResult, LiveOutput, OutputChunk
from core.planning.planner import Refusal
from core.ports import ExecutionHost, Journal
from core.store import Store
from core.store.runs import runs

_log = logging.getLogger(__name__)
Chunks = AsyncIterator[OutputChunk]
_Note = Callable[[], Awaitable[object]]

# A command shorter than this leaves nothing to find: its supervisor ends it with the gateway.
_IDENTIFY_AFTER_S = 0.05
_NOTE_AGAIN_S = 0.5

IN_DOUBT = (
    "The database or the journal failed while the run was being started, so nothing ran. Ask again."
)
"""Why a run with a claim in doubt did not start; one that is queued starts later all the same."""


@dataclass(slots=True)
class Execution:
    """Run plans on their hosts. ``owner`` names this boot of the gateway; times in ms.

    ``hosts`` are those that work here. A plan runs on exactly the one that it was bound to, or
    nowhere (``host_unavailable``): what is for the sandbox must not run outside it. Once
    ``closed``, nothing is started any more, not even what waits for its turn.
    """

    store: Store
    journal: Journal
    hosts: Mapping[ExecHost, ExecutionHost]
    owner: str
    notice_after_ms: int
    deferred: Deferred
    guard: Guard = field(default_factory=Guard)
    closed: bool = False
    _starts: dict[ApprovalId, "_Start"] = field(default_factory=dict)

    def withheld(self, plan: ExecPlan, requester: Requester) -> Refusal | None:
        """Return why a plan would give the requester more rights than their own, or ``None``."""
        host = self.hosts.get(plan.host)
        why = "" if host is None else host.withheld(plan, requester)
        return Refusal(DenialReason.BAD_CWD, why) if why else None

    async def missing(self, plan: ExecPlan) -> Refusal | None:
        """Return why a plan could run nowhere, so that nobody is asked about it needlessly."""
        host = self.hosts.get(plan.host)
        if host is None:
            return Refusal(DenialReason.HOST_UNAVAILABLE, _nowhere(plan))
        try:
            await host.check(plan)
        except HostUnavailable as refusal:
            return Refusal(DenialReason.HOST_UNAVAILABLE, str(refusal))
        except SpawnError as failure:
            return Refusal(DenialReason.SPAWN_FAILED, str(failure))
        return None

    async def run(self, run_id: ApprovalId, plan: ExecPlan, claim: Claim) -> ExecResult | None:
        """Run a plan and record how it ended; ``None`` if the claim is held elsewhere.

        Raises:
            StoreError: nothing ran; a claim that is in doubt is given up later.
            JournalError: the decision could not be written down, so nothing ran.
            Stopping: the gateway stops, so nothing ran.
        """
        start = self._starts[run_id] = _Start(self, run_id, claim, plan)
        try:
            self.guard.check(plan)
            host = self.hosts.get(plan.host)
            if host is None:
                return await self._refuse(start, DenialReason.HOST_UNAVAILABLE, _nowhere(plan))
            finished = await host.run(run_id, plan, start)
        except (PlanDrift, LockedDown, HostUnavailable, CancelledFirst) as refusal:
            return await self._refuse(start, reason_of(refusal), str(refusal))
        except SpawnError as failure:
            if start.lost:
                return None
            return await self._refuse(start, DenialReason.SPAWN_FAILED, str(failure))
        except (StoreError, JournalError) as failure:
            if claim.asked:
                await self._abandon(run_id, failure)
            raise
        finally:
            start.close()
            del self._starts[run_id]
        await asyncio.gather(
            self.deferred.append("finish", journal_records.finished(finished)),
            self.deferred.finish(run_id, finished, self.owner, plan.agent),
        )
        return finished

    async def _abandon(self, run_id: ApprovalId, failure: SaysoError) -> None:
        """Give up a claim that may still have been written."""
        self.deferred.abandon(run_id, self.owner, IN_DOUBT)
        if isinstance(failure, StoreError):  # otherwise the journal has no decision to take back
            reason = DenialReason.SPAWN_FAILED
            # Now or never: a later start of a run that is still queued must be the last record.
            with suppress(JournalError):
                await self.journal.append(
                    "refuse", {"run": run_id, "reason": reason, "why": IN_DOUBT}
                )

    async def _refuse(self, start: "_Start", reason: DenialReason, why: str) -> Denied | None:
        """End a run of which nothing was started; ``None`` if another gateway has started it.

        That is for the store to say of what is not claimed here.
        """
        run_id, claim = start.run_id, start.claim_on
        record: dict[str, object] = {"run": run_id, "reason": reason, "why": why}
        if start.claimed:
            await self.deferred.append("refuse", record)
        ended = await self.deferred.end(run_id, lambda: claim.give_up(reason, why))
        if not start.claimed:
            if not ended:
                return None
            await self.deferred.append("refuse", record)
        return Denied(run_id, reason, why)

    async def cancel(self, run_id: ApprovalId, plan: ExecPlan) -> bool:
        """End a running command, or keep one from starting; ``False`` if it does not run here."""
        host = self.hosts.get(plan.host)
        if host is None:
            return False
        if await host.cancel(run_id):
            return True
        # A host may prepare for seconds before it knows the run.
        start = self._starts.get(run_id)
        if start is None or start.cancel():
            return start is not None
        return await host.cancel(run_id)  # it was claimed while the host looked

    async def tail(self, run_id: ApprovalId, plan: ExecPlan) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        host = self.hosts.get(plan.host)
        return None if host is None else await host.tail(run_id)

    async def watch(self, run_id: ApprovalId, plan: ExecPlan | None) -> Chunks:
        """Yield what a run prints from start to end; nothing without a plan."""
        host = None if plan is None else self.hosts.get(plan.host)
        if host is not None:
            async for chunk in host.watch(run_id):
                yield chunk


def _nowhere(plan: ExecPlan) -> str:
    return f"no host for {plan.host} commands is available here; run `sayso doctor`"


@dataclass(slots=True)
class _Start:
    """Claim a run, note its process, notify its session when it takes long (a ``RunStart``)."""

    execution: Execution
    run_id: ApprovalId
    claim_on: Claim
    plan: ExecPlan
    lost: bool = False
    claimed: bool = False
    unwanted: bool = False
    closed: bool = False
    _timers: list[asyncio.TimerHandle] = field(default_factory=list)
    _notes: set[asyncio.Future[object]] = field(default_factory=set)

    async def claim(self) -> bool:
        # It may have waited for its turn meanwhile.
        if self.execution.closed:
            raise Stopping
        self.execution.guard.check(self.plan)
        self._refuse_unwanted()
        taken = await self.claim_on.take()
        self.claimed, self.lost = True, not taken
        if taken:
            self._refuse_unwanted()
        if taken and self.plan.host is not ExecHost.NODE:  # a node reports its runs itself
            seconds = self.execution.notice_after_ms / 1000
            notice = self.execution.store.write
            self._later(seconds, lambda: notice(runs.running, self.run_id, round(seconds)))
        return taken

    def cancel(self) -> bool:
        """Keep a run from starting; ``False`` if it is claimed: only its host can end it now."""
        self.unwanted = self.unwanted or not self.claimed
        return not self.claimed

    def _refuse_unwanted(self) -> None:
        if self.unwanted:
            raise CancelledFirst(f"run {self.run_id} was cancelled before it started")

    async def basis(self) -> Basis:
        return await self.claim_on.basis()

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        write = self.execution.store.write
        self._later(
            _IDENTIFY_AFTER_S,
            lambda: write(runs.identify, self.run_id, pid, pgid, start_ticks, boot_id()),
        )

    def _later(self, seconds: float, note: _Note) -> None:
        self._timers.append(
            asyncio.get_running_loop().call_later(seconds, lambda: self._start(note))
        )

    def _start(self, note: _Note) -> None:
        task = asyncio.ensure_future(self._noted(note))
        self._notes.add(task)
        task.add_done_callback(self._done)

    async def _noted(self, note: _Note) -> object:
        """Write a note, retrying while the run lasts and the store is away."""
        while not self.closed:
            with suppress(StoreError):
                return await note()
            await asyncio.sleep(_NOTE_AGAIN_S)
        return None

    def _done(self, task: asyncio.Future[object]) -> None:
        self._notes.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # The note is only for lookup and reports; the run's own record stays guarded.
            _log.warning("cannot store a note on run %s: %s", self.run_id, task.exception())

    def close(self) -> None:
        self.closed = True
        for timer in self._timers:
            timer.cancel()


def boot_id() -> str:
    """Return the kernel's id of this boot, so that a process id is never taken for another's."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()

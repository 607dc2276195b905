"""Do what the gateway orders: judge, run once, and report how it ended until acknowledged."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, field

from bot.node.commands import NodeCommands
from bot.node.judge import Judge
from core.errors import (
    CancelledFirst,
    HostUnavailable,
    JournalError,
    SaysoError,
    SpawnError,
    StateError,
)
from core.gate.journal import journal_records
from core.hosts.failures import reason_of
from core.ipc.allowance import Allowance
from core.model.command import ExecPlan
from core.model.decision import AllowedBy, Basis, Decision, DenialReason, Evaluation
from core.model.identity import ApprovalId, Intake, Requester
from core.nodes.approver_keys import ApproverKeys
from core.nodes.envelope import BadOrder, Order, check, opened
from core.nodes.frames import (
    AnyFrame,
    BadFrame,
    Cancel,
    Ended,
    Invoke,
    Noted,
    NotRun,
    Prepare,
    Prepared,
    Query,
    Run,
    Skills,
    Started,
    Underway,
    Unprepared,
)
from core.nodes.ledger import Ledger, unseen
from core.nodes.link import LinkLost
from core.nodes.member import GatewayConnection
from core.policy.judge.evaluate import denial_reason
from core.ports import ExecutionHost, Journal

_log = logging.getLogger(__name__)
_MOST_PREPARING = 16
MOST_OPEN = 256
"""Requests that are served or wait; nothing more is read from the gateway until one is done."""
MOST_ORDERED = 1_000
"""Runs that were ordered and have not ended."""
REFUSALS_PER_S, MOST_REFUSED = 5.0, 500
"""Refused orders that are recorded a second, and at once; then nothing is read from the gateway."""
_WHY = 2_000
_REPORT_AFTER_S = 0.05
_SYNC_AFTER_S = 0.01


class NotAllowed(Exception):
    """This node's own policy does not allow a plan to run."""

    def __init__(self, verdict: Evaluation, why: str) -> None:
        super().__init__(why)
        denied = verdict.decision is Decision.DENY
        self.reason = denial_reason(verdict) if denied else DenialReason.SECURITY_DENY


@dataclass(slots=True)
class NodeWork:
    """What one node does for its gateway, whose id is ``gateway``.

    ``approvers``: what people allow runs only if one of their passkeys signed it.
    """

    gateway: str
    judge: Judge
    host: ExecutionHost
    ledger: Ledger
    journal: Journal
    commands: NodeCommands
    approvers: ApproverKeys | None
    _joined: GatewayConnection | None = None
    _ordered: set[ApprovalId] = field(default_factory=set)
    _unwanted: set[ApprovalId] = field(default_factory=set)
    _started: dict[ApprovalId, float] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _turns: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST_PREPARING))
    _room: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MOST_OPEN))
    _refusals: Allowance = field(
        default_factory=lambda: Allowance(REFUSALS_PER_S, MOST_REFUSED, message=1)
    )

    async def joined(self, joined: GatewayConnection) -> None:
        """Report the endings that the gateway has not acknowledged.

        Raises:
            LinkLost: it is already gone.
        """
        self._joined = joined
        for ending in self.ledger.pending():
            await joined.link.send(ending)

    async def heard(self, joined: GatewayConnection, frame: AnyFrame) -> None:
        """Handle one frame of the gateway.

        Raises:
            BadFrame: a gateway never sends this.
        """
        match frame:
            case Prepare() | Invoke() | Noted():
                await self._room.acquire()
                task = self._start(self._serve(joined, frame))
                task.add_done_callback(lambda _: self._room.release())
            case Skills():
                await self._learn(frame)
            case Run():
                await self._take(joined, frame)
            case Cancel():
                await self._cancel(frame.run_id)
            case Query():
                await joined.link.send(self._status(frame.run_id))
            case _:
                raise BadFrame(f"a gateway does not say {frame.t}")

    def left(self) -> None:
        """Handle the end of the connection; what runs continues."""
        self._joined = None

    async def dismissed(self) -> None:
        """End everything that runs for a gateway that revoked this node."""
        for run_id in tuple(self._ordered):
            await self._cancel(run_id)

    async def _cancel(self, run_id: ApprovalId) -> None:
        """End a run, or keep it from starting: its host may not know it yet."""
        if not await self.host.cancel(run_id) and run_id in self._ordered:
            self._unwanted.add(run_id)

    def refuse_unwanted(self, run_id: ApprovalId) -> None:
        """Let nothing start that the gateway has cancelled.

        Raises:
            CancelledFirst: it has.
        """
        if run_id in self._unwanted:
            raise CancelledFirst(f"run {run_id} was cancelled before it started")

    async def stop(self) -> None:
        """Wait until what is under way has ended; the runner has been stopped."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, joined: GatewayConnection, frame: Prepare | Invoke | Noted) -> None:
        match frame:
            case Prepare():
                await self._prepare(joined, frame)
            case Invoke():
                await self._invoke(joined, frame)
            case Noted():
                await asyncio.to_thread(self.ledger.note, frame.run_id)

    def _start(self, work: Coroutine[object, object, None]) -> "asyncio.Task[None]":
        task = asyncio.ensure_future(_logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _learn(self, frame: Skills) -> None:
        """Take the names of skills, where the gateway's word lets something run."""
        if self.approvers is None:
            await asyncio.to_thread(self.judge.learn, frame.bins)

    async def _prepare(self, joined: GatewayConnection, frame: Prepare) -> None:
        async with self._turns:
            answer = await self.judge.prepare(frame)
            if isinstance(answer, Prepared) and answer.verdict.decision is not Decision.DENY:
                answer = await self._possible(answer)
        await joined.link.send(answer)

    async def _possible(self, prepared: Prepared) -> Prepared | Unprepared:
        """Return the plan, or why it could not start here at all, before people are asked."""
        try:
            await self.host.check(prepared.plan)
        except HostUnavailable as refusal:
            reason, why = DenialReason.HOST_UNAVAILABLE, str(refusal)
        except SpawnError as failure:
            reason, why = DenialReason.SPAWN_FAILED, str(failure)
        else:
            return prepared
        return Unprepared(id=prepared.id, reason=reason, why=why[:_WHY])

    async def _invoke(self, joined: GatewayConnection, frame: Invoke) -> None:
        async with self._turns:
            answer = await self.commands.answer(frame)
        await joined.link.send(answer)

    def _status(self, run_id: ApprovalId) -> AnyFrame:
        """Return what became of a run; an unknown one will never start.

        Its order was for an earlier connection, so it is refused even if it still arrives.
        """
        try:
            ending = self.ledger.ending(run_id)
        except StateError as failure:
            _log.error("%s", failure)
            ending = unseen(run_id)
        if ending is not None:
            return ending
        if run_id in self._started:
            return self._started_frame(run_id)
        if run_id in self._ordered or self.ledger.knows(run_id):
            return Underway(run_id=run_id)
        why = "the connection to the node was lost before the order arrived, so nothing ran"
        return NotRun(run_id=run_id, reason=DenialReason.HOST_UNAVAILABLE, why=why)

    async def _take(self, joined: GatewayConnection, frame: Run) -> None:
        """Start one order, or report on a run that was ordered before.

        Nothing is awaited before its id is recorded, so that a second order or a query finds it.
        """
        await asyncio.sleep(self._refusals.take(0, 0))
        try:
            order = opened(frame, self.gateway)
        except BadOrder as error:
            self._refusals.take(0, 1)
            _log.error("%s", error)
            return
        run_id = order.run_id
        if run_id in self._ordered or self.ledger.knows(run_id):
            await joined.link.send(self._status(run_id))
            return
        if len(self._ordered) >= MOST_ORDERED:
            reason, why = DenialReason.HOST_UNAVAILABLE, "too many runs wait on this node"
            await joined.link.send(NotRun(run_id=run_id, reason=reason, why=why))
            return
        self._ordered.add(run_id)
        self._start(self._run(joined, order, frame))

    async def _run(self, joined: GatewayConnection, order: Order, frame: Run) -> None:
        try:
            ending = await self._ending(joined, order, frame)
            await self._deliver(order.run_id, order.digest, ending)
        finally:
            self._ordered.discard(order.run_id)
            self._unwanted.discard(order.run_id)
            self._started.pop(order.run_id, None)

    async def _ending(self, joined: GatewayConnection, order: Order, frame: Run) -> Ended | NotRun:
        run_id, plan = order.run_id, frame.plan
        try:
            self._check(joined, order, plan)
            verdict = self._judged(order, plan)
            start = _NodeStart(self, order, plan, verdict)
            result = await self.host.run(run_id, plan, start)
        except NotAllowed as refusal:
            reason, why = refusal.reason, str(refusal)
        except BadOrder as refusal:
            reason, why = DenialReason.HOST_UNAVAILABLE, str(refusal)
        except SaysoError as failure:
            reason, why = reason_of(failure), str(failure)
        except Exception:  # noqa: BLE001 - logged; without an ending the gateway waits for ever
            _log.exception("run %s failed", run_id)
            if self.ledger.knows(run_id):
                return unseen(run_id)
            reason, why = DenialReason.SPAWN_FAILED, "internal error, see the node's log"
        else:
            return Ended(run_id=run_id, result=result)
        return NotRun(run_id=run_id, reason=reason, why=why[:_WHY])

    def _check(self, joined: GatewayConnection, order: Order, plan: ExecPlan) -> None:
        """Check that an order is for this node and connection, and for a plan that it made.

        Raises:
            BadOrder: it is not; the message says what is wrong.
        """
        check(order, plan, self.judge.node_id, joined.session, joined.now_ms())
        if not self.judge.plans.knows(plan.digest):
            raise BadOrder("the order is for a plan that this node did not make")
        if self.approvers is not None:
            self.approvers.check(order, plan)

    def _judged(self, order: Order, plan: ExecPlan) -> Evaluation:
        """Judge a plan once more, because the file may have changed since it was prepared.

        Raises:
            NotAllowed: this node does not allow it to run.
        """
        verdict, unasked = self.judge.verdict(plan)
        if verdict.decision is Decision.DENY:
            raise NotAllowed(verdict, f"this node denies it: {verdict.why}")
        if verdict.decision is Decision.ASK and not _is_answered(order, unasked=unasked):
            raise NotAllowed(verdict, f"on this node a person must allow it: {verdict.why}")
        return verdict

    def started(self, run_id: ApprovalId) -> None:
        """Report that a run's first process has started; the ending of a short run implies it."""
        self._started[run_id] = time.monotonic()
        asyncio.get_running_loop().call_later(_REPORT_AFTER_S, self._report, run_id)

    def _report(self, run_id: ApprovalId) -> None:
        if run_id in self._started:
            self._start(self._say(self._started_frame(run_id)))

    def _started_frame(self, run_id: ApprovalId) -> Started:
        age_s = time.monotonic() - self._started[run_id]
        return Started(run_id=run_id, age_ms=round(age_s * 1000))

    async def _say(self, frame: AnyFrame) -> None:
        """Send a frame if the gateway is connected; what it must receive is sent again anyway."""
        if self._joined is not None:
            with contextlib.suppress(LinkLost):
                await self._joined.link.send(frame)

    async def _deliver(self, run_id: ApprovalId, digest: str, ending: Ended | NotRun) -> None:
        """Send an ending, then make it survive a power cut here, too.

        The gateway writes it to its own disk before it reports it; that disk may be this one, so
        our own write waits a moment.
        """
        if isinstance(ending, NotRun) and not self.ledger.knows(run_id):
            self._refusals.take(0, 1)
            self.ledger.refuse(ending)
            await self._say(ending)
            await self._record(*_recorded(ending))
            return
        self.ledger.hold(run_id, digest, ending)
        await self._say(ending)
        if self._joined is not None:
            await asyncio.sleep(_SYNC_AFTER_S)
        saving = asyncio.to_thread(self.ledger.save, run_id)
        await asyncio.gather(self._record(*_recorded(ending)), saving)

    async def _record(self, kind: str, record: dict[str, object]) -> None:
        try:
            await self.journal.append(kind, record)
        except JournalError as failure:
            _log.error("a %s record cannot be written: %s", kind, failure)


def _recorded(ending: Ended | NotRun) -> tuple[str, dict[str, object]]:
    """Return the journal's kind and record of an ending."""
    if isinstance(ending, Ended):
        return "finish", journal_records.finished(ending.result)
    return "refuse", {"run": ending.run_id, "reason": ending.reason, "why": ending.why}


def _is_answered(order: Order, *, unasked: bool) -> bool:
    return order.by is AllowedBy.PEOPLE or (order.by is AllowedBy.FALLBACK and unasked)


@dataclass(frozen=True, slots=True)
class _NodeStart:
    """Claims a run on this node's disk, once (a ``core.ports.RunStart``)."""

    work: NodeWork
    order: Order
    plan: ExecPlan
    verdict: Evaluation

    async def claim(self) -> bool:
        """Write the decision to the journal and the run to the ledger, before anything starts."""
        run_id, work = self.order.run_id, self.work
        work.refuse_unwanted(run_id)
        who = Requester(Intake.REMOTE, f"gateway:{work.gateway}")
        decided = journal_records.decided(run_id, who, self.plan, self.verdict)
        signed = bool(self.order.proofs)
        claiming = asyncio.to_thread(work.ledger.claim, run_id, self.plan.digest, signed=signed)
        # Both wait for the disk at the same time. No claim may follow the ending that a failure of
        # the journal causes, so one has also ended when the other fails.
        decision = asyncio.ensure_future(work.journal.append("decision", decided))
        await asyncio.wait({decision, claim := asyncio.ensure_future(claiming)})
        decision.result()
        return claim.result()

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Report the start; the supervisor ends what runs with this process."""
        del pid, pgid, start_ticks
        self.work.started(self.order.run_id)
        if self.verdict.decision is Decision.ALLOW:
            book, now_ms = self.work.judge.rulebook, time.time_ns() // 1_000_000
            book.note_uses(self.plan, self.verdict, now_ms)

    async def basis(self) -> Basis:
        """Return the basis that the order states."""
        return Basis(self.order.by, self.order.approvers)


async def _logged(work: Coroutine[object, object, None]) -> None:
    try:
        await work
    except LinkLost as lost:
        _log.info("%s", lost)
    except Exception:  # noqa: BLE001 - one order's bug must not end the others
        _log.exception("an order of the gateway failed")

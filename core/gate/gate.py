"""Take a request along one straight line: to an answer, or to a question to people.

::

    submit ─▶ locked down? ─▶ Denied
           ─▶ policy ─▶ plan ─▶ evaluate ─┬─ DENY  ─▶ recorded ─▶ Denied
                                          ├─ ASK   ─▶ granted? room? ─▶ broker ─▶ Pending … queued
                                          └─ ALLOW ─▶ execution ─▶ Finished
    run_approved ─▶ what people allowed, here or before a restart, runs once

A denial is a result. An exception means that Sayso failed, and then nothing runs.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from core.approvals.answer import Answer, Answered
from core.approvals.broker import Broker
from core.approvals.ids import new_id
from core.approvals.routing.forwarding import Fallback
from core.approvals.seen import Seen
from core.errors import ApprovalsFileError, BadRequest
from core.gate.allow_always import AlwaysWriter
from core.gate.apply_grants import Granted
from core.gate.cancellation import Cancellation
from core.gate.claims import Claim, NewRun, QueuedRun
from core.gate.closing import Closing
from core.gate.effective_policy import Rulebook
from core.gate.execution import Chunks, Execution
from core.gate.guards.marks import Mark
from core.gate.journal import ends, journal_records
from core.gate.journal.doubts import Doubts
from core.gate.journal.ends import Recording
from core.gate.journal.lasting_journal import LastingJournal
from core.gate.journal.refusals import refuse
from core.gate.run_status import Waiters
from core.gate.sessions import SessionLayers
from core.gate.two_judges import Judged, NodePlanning, planned
from core.ipc.unattended import to_its_end
from core.model.approval import Approval, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, DenialReason, Evaluation
from core.model.identity import AgentId, ApprovalId
from core.model.pending_limits import Crowded
from core.model.policy import ExecPolicy
from core.model.result import Denied, ExecResult, LiveOutput, Pending, Running, Submission
from core.planning.planner import Planner, Refusal
from core.policy.judge.evaluate import denial_reason
from core.ports import Journal
from core.store import Store, approvals
from core.store.approvals import idempotency
from core.store.runs import runs
from core.store.schema.records import RunDraft

Begun = Callable[[ApprovalId], None]
_QUEUE_BATCH = 32


@dataclass(frozen=True, slots=True)
class _Allowed:
    """A request that policy allows, before it runs."""

    request: ExecRequest
    plan: ExecPlan
    evaluation: Evaluation


@dataclass(slots=True)
class Gate:
    """The one way to run a command; every intake and every surface ends here."""

    rulebook: Rulebook
    planner: Planner
    broker: Broker
    execution: Execution
    store: Store
    journal: Journal
    nodes: NodePlanning | None = None
    seen: Seen = field(init=False)
    _waiters: Waiters = field(init=False)
    _granted: Granted = field(init=False)
    _sessions: SessionLayers = field(init=False)
    _remembering: AlwaysWriter = field(init=False)
    _running: dict[ApprovalId, ExecPlan] = field(default_factory=dict)
    _cancellation: Cancellation = field(init=False)
    _closing: Closing = field(init=False)
    _lasting: LastingJournal = field(init=False)
    _doubts: Doubts = field(init=False)
    _recording: Recording = field(default_factory=Recording, init=False)

    def __post_init__(self) -> None:
        """Listen for what ends elsewhere."""
        self.seen = Seen(self.store)
        self._lasting = LastingJournal(self.journal, self.execution.deferred)
        self._doubts = Doubts(self.store, self.execution.deferred)
        self._closing = Closing(self._running, self.execution.cancel)
        self._waiters = Waiters(self.store, self._running, self.execution.deferred)
        self._cancellation = Cancellation(
            self.store, self.journal, self.execution, self.nodes, self._waiters, self._running
        )
        self._granted = Granted(self.store, self.rulebook)
        self._sessions = SessionLayers(self.store, lambda: self.rulebook.senders)
        self._remembering = AlwaysWriter(self.store, self.rulebook, self.journal, self.broker)

    @property
    def running(self) -> frozenset[ApprovalId]:
        """Return what runs now in this gateway."""
        return frozenset(self._running)

    async def submit(self, request: ExecRequest, begun: Begun | None = None) -> Submission:
        """Judge a request; run it, refuse it, or ask people.

        ``begun`` is called with the id of a run that policy allows, before it ends. A caller that
        leaves ends nothing: the run belongs to the gate.

        Raises:
            Conflict: something else was asked earlier under its key; nothing ran.
            Stopping: the gate is closed; nothing ran.
            SaysoError: Sayso failed; nothing ran.
        """
        return await to_its_end(self._taken(request, begun))

    async def _taken(self, request: ExecRequest, begun: Begun | None) -> Submission:
        with self._closing.inside():
            found = await self._submitted(request)
            return await self._start(found, begun) if isinstance(found, _Allowed) else found

    async def ignored(self, request: ExecRequest) -> tuple[str, ...]:
        """Return a sentence for each setting of a call that has no effect (decision 3).

        Raises:
            StoreError: the session's settings cannot be read.
        """
        try:
            return self.rulebook.ignored(request, await self._sessions.layer(request.session))
        except ApprovalsFileError:
            return ()  # nothing runs, and the answer says why

    async def _submitted(self, request: ExecRequest) -> Submission | _Allowed:
        known = await self._known(request)
        if known is not None:
            return known
        guard = self.execution.guard
        mark, locked = guard.mark_of(request), guard.lockdown.state()
        if mark is not None:
            return await self._decide(mark.hardened(request), mark)
        if locked is not None:
            refusal = Refusal(DenialReason.LOCKED_DOWN, locked.sentence)
            return await refuse(self.store, self.journal, request, refusal)
        try:
            return await self._decide(request)
        except ApprovalsFileError as error:
            # Its limits are not known, and the strictest of them is deny.
            refusal = Refusal(DenialReason.SECURITY_DENY, str(error))
            return await refuse(self.store, self.journal, request, refusal)

    async def _decide(
        self, request: ExecRequest, mark: Mark | None = None
    ) -> Submission | _Allowed:
        """Judge a request; ask or deny. ``mark`` makes it a gate proof, held without a trace."""
        await self.rulebook.ready(request.agent)
        layer = await self._sessions.layer(request.session)
        policy = self.rulebook.policy(request, layer)
        found = await planned(request, policy, self.planner, self.nodes)
        if isinstance(found, Judged):
            found = self.execution.withheld(found.plan, request.requester) or found
        if isinstance(found, Refusal):
            if mark is not None:
                raise BadRequest(found.why)
            return await refuse(self.store, self.journal, request, found, policy)
        plan = found.plan
        evaluation = found.with_gateways(await self._judged(plan, policy))
        if mark is not None and evaluation.decision is not Decision.ALLOW:
            return mark.hold(new_id(), evaluation)
        match evaluation.decision:
            case Decision.ALLOW:
                return _Allowed(request, plan, evaluation)
            case Decision.ASK:
                return await self._ask(request, found, evaluation, policy)
            case Decision.DENY:
                return await self._deny(request, plan, evaluation)

    async def _judged(self, plan: ExecPlan, policy: ExecPolicy) -> Evaluation:
        """Judge a plan, and again under what people granted for a while where it would ask."""
        version, evaluation = self.rulebook.version, self.rulebook.judge(plan, policy)
        if evaluation.decision is not Decision.ASK:
            return evaluation
        lifted = await self._granted.lift(plan, policy, evaluation)
        # The configuration changed meanwhile: nothing is allowed by half of each.
        return lifted if lifted and version == self.rulebook.version else evaluation

    async def _known(self, request: ExecRequest) -> Submission | None:
        """Return the status of an earlier request that was made under the same key."""
        if request.request_key is None:
            return None
        digest = idempotency.request_digest(request)
        known = await self.store.read(idempotency.by_request_key, request.request_key, digest)
        return None if known is None else await self._waiters.status(known) or Running(known)

    async def _start(self, allowed: _Allowed, begun: Begun | None) -> Submission:
        request, plan, evaluation = allowed.request, allowed.plan, allowed.evaluation
        claim = self._claim(request, plan, evaluation)
        with self._closing.going_on_elsewhere(plan):
            result = await self._run(claim.draft.id, plan, claim, begun)
        if result is None:
            # The same request came in twice at once, and the other one holds the key.
            return await self._known(request) or Running(claim.draft.id)
        self.rulebook.note_uses(plan, evaluation, round(time.time() * 1000))
        return result

    async def _ask(
        self, request: ExecRequest, found: Judged, evaluation: Evaluation, policy: ExecPolicy
    ) -> Submission:
        plan = found.plan
        fallback = found.fallback(self.rulebook.fallback(plan, policy))
        missing = await self.execution.missing(plan)
        if missing is not None:
            return await refuse(self.store, self.journal, request, missing, policy)
        with self._recording.answer():  # the ask fallback may allow it
            approval = await self._opened(request, plan, evaluation, fallback)
        if isinstance(approval, Crowded):
            return await refuse(self.store, self.journal, request, approval, policy)
        if approval.resolution is None:
            return Pending(approval.id, approval.code, approval.deadline_ms)
        if approval.resolution.state is ApprovalState.ALLOWED:
            return Running(approval.id)
        why = f"a person must allow this, and {approval.resolution.note}"
        return Denied(approval.id, DenialReason.NO_ROUTE, why)

    async def _opened(
        self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation, fallback: Fallback
    ) -> Approval | Crowded:
        """Open a question and record it, and its end if it has one already."""
        with self._doubts.recorded():
            made = await self.broker.asking.open(request, plan, evaluation, fallback)
        if isinstance(made, Crowded):
            return made
        if made.fresh:  # otherwise the same request came in twice at once
            await self._lasting.append_all(ends.asked(made.approval))
        return made.approval

    async def _deny(self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation) -> Denied:
        claim = self._claim(request, plan, evaluation)
        decided = journal_records.decided(claim.draft.id, request.requester, plan, evaluation)
        await self.journal.append("decision", decided)
        reason = denial_reason(evaluation)
        await claim.give_up(reason, evaluation.why)
        return Denied(claim.draft.id, reason, evaluation.why)

    def _claim(self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation) -> NewRun:
        key, digest = request.request_key, idempotency.request_digest(request)
        who, owner = request.requester, self.execution.owner
        draft = RunDraft(new_id(), plan, who, owner, request_key=key, request_digest=digest)
        return NewRun(self.store, self.journal, draft, evaluation)

    async def _run(
        self, run_id: ApprovalId, plan: ExecPlan, claim: Claim, begun: Begun | None = None
    ) -> ExecResult | None:
        self._running[run_id] = plan
        if begun is not None:
            begun(run_id)
        try:
            result = await self.execution.run(run_id, plan, claim)
        finally:
            del self._running[run_id]
        if result is not None:
            self._waiters.settle(run_id, result)
        if self.closed:
            self._waiters.close()
        return result

    async def queued(self) -> tuple[tuple[ApprovalId, ExecPlan], ...]:
        """Return what people allowed and no gateway has started yet; nothing once closed."""
        if self.closed:
            return ()
        waiting, deferred = (
            await self.store.read(runs.queued, _QUEUE_BATCH, self.running),
            self.execution.deferred,
        )
        return tuple(
            (run_id, plan)
            for run_id, plan in waiting
            if run_id not in self._running and not deferred.is_in_doubt(run_id)
        )

    async def run_approved(self, run_id: ApprovalId, plan: ExecPlan) -> ExecResult | None:
        """Run what people allowed, once; ``None`` if it was started elsewhere, or is cancelled."""
        await self._recording.settled()
        self.execution.deferred.require_records()
        await self._remembering.store_promise(run_id)
        if self._cancellation.forbids(run_id):
            await self._cancellation.enforce(run_id)
            return None
        claim = QueuedRun(self.store, self.journal, run_id, plan, self.execution.owner)
        return await self._run(run_id, plan, claim)

    async def answer(self, answer: Answer) -> Answered:
        """Take a person's answer and write it to the journal when it decided or counted.

        What is decided is recorded, even if the person's connection ends in the middle.

        Raises:
            Stopping: the gate is closed; nothing was decided.
        """
        return await to_its_end(self._answered(answer))

    async def offer(self, answer: Answer) -> Answered:
        """Return, changing nothing, whether a person could answer this way now; ``OFFERED`` if so.

        Raises:
            StoreError: the store cannot be read.
        """
        return await self.broker.answering.offer(answer)

    async def _answered(self, answer: Answer) -> Answered:
        with self._closing.inside(), self._recording.answer():
            return await self._decided(answer)

    async def _decided(self, answer: Answer) -> Answered:
        views = (*answer.views, *self.seen.of(answer.actor))
        with self._doubts.recorded(answer):
            answered = await self.broker.answering.answer(replace(answer, views=views))
        if answered.stored is not None:
            await ends.answered(self.store, self._lasting, answered.stored, answer.actor)
        return answered

    async def companion_lost(self, run_id: ApprovalId, why: str) -> None:
        """End a question whose only place was a companion that is gone; others stay open."""
        if self.closed:
            return
        with self._closing.inside():
            await ends.companion_lost(self.store, self._lasting, run_id, why)

    @property
    def closed(self) -> bool:
        """Return whether the gateway stops and nothing new is taken."""
        return self._closing.closed

    def close(self) -> None:
        """Accept no more requests or answers; send away callers that wait for what does not run."""
        self._closing.closed = self.execution.closed = True
        self._waiters.close()

    async def settle(self, grace_s: float) -> None:
        """Let what runs here continue for ``grace_s`` seconds, then end it; return at its end."""
        await self._closing.settle(grace_s)

    async def expire(self) -> int:
        """End everything that nobody answered in time; return how many.

        A closed gate leaves this to the next start: what ends must reach the journal too.
        """
        if self.closed:
            return 0
        with self._closing.inside(), self._doubts.recorded():
            return await ends.expire(self.store, self._lasting)

    async def wait(self, run_id: ApprovalId, timeout_ms: int | None = None) -> Submission | None:
        """Wait for a run's end; its status if it takes longer, ``None`` if it is unknown."""
        return await self._waiters.wait(run_id, timeout_ms) or await self.status(run_id)

    async def status(self, run_id: ApprovalId) -> Submission | None:
        """Return the status of a request; ``None`` if none has this id."""
        return await self._waiters.status(run_id)

    async def agent_of(self, run_id: ApprovalId) -> AgentId | None:
        """Return the agent that asked; ``None`` if no request has this id."""
        return await self._waiters.agent_of(run_id)

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a running command printed last; ``None`` if it does not run here."""
        plan = self._running.get(run_id)
        if plan is not None:
            return await self.execution.tail(run_id, plan)
        # What an earlier gateway ordered from a node continues there.
        return None if self.nodes is None else await self.nodes.tail(run_id)

    def watch(self, run_id: ApprovalId) -> Chunks:
        """Yield what a run prints from start to end; nothing if it is not here."""
        return self.execution.watch(run_id, self._running.get(run_id))

    async def plan_of(self, run_id: ApprovalId) -> ExecPlan | None:
        """Return what runs here, or is or was asked about; ``None`` for anything else."""
        plan = self._running.get(run_id)
        asked = None if plan else await self.store.read(approvals.get, run_id)
        return plan if asked is None else asked.plan

    def stopped(self, run_id: ApprovalId) -> str:
        """Return who ended a running command, in words; empty where nobody did, or not here."""
        return self._cancellation.stopped(run_id)

    async def cancel(self, run_id: ApprovalId, note: str) -> bool:
        """Withdraw a question or end a running command; ``False`` if there is nothing to cancel."""
        return await to_its_end(self._cancellation.cancel(run_id, note))

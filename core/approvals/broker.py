"""Run the approval state machine: open, answer, wait, expire.

``pending`` becomes ``allowed``, ``denied``, ``expired`` or ``cancelled``, once and for good. Each
arrow is one guarded statement in ``core.store.approvals`` on the database's clock, and expiry is
part of the statement that resolves (DESIGN §1 rules 5 to 8). Nothing here is an authority: a lost
wake-up only makes somebody look again.
"""

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from core.approvals import sentences
from core.approvals.approvers import Approvers, Standing
from core.approvals.forwarding import Forwarding
from core.approvals.ids import new_id
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, Evaluation
from core.model.identity import Actor, AgentId, ApprovalId, SessionKey, Target
from core.model.policy import AskFallback, ExecPolicy
from core.store import Store, approvals, outbox
from core.store.drafts import ApprovalDraft, CodeTaken, PromptDraft

_LOOK_AGAIN_S = 5.0
_CODE_TRIES = 8


class AnswerOutcome(StrEnum):
    """How an answer ended."""

    ACCEPTED = "accepted"
    ALREADY_ENDED = "already_ended"
    UNKNOWN = "unknown"
    AMBIGUOUS = "ambiguous"
    NOT_LISTED = "not_listed"
    REQUESTER = "requester"
    NOT_OFFERED = "not_offered"


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of an answer, the sentence for the person, and the approval as it now stands."""

    outcome: AnswerOutcome
    sentence: str
    approval: Approval | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said: an id, code or prefix, the reply, and where it came from.

    ``key`` makes a redelivered answer the same answer. ``process`` is a local actor's kernel
    session, as in ``Requester``.
    """

    ref: str
    reply: ApprovalReply
    actor: Actor
    key: str | None = None
    note: str = ""
    process: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a question stands, and when it is repeated, in ms (``None``: never)."""

    timeout_ms: int
    remind_ms: int | None


class Broker:
    """The one place that asks people and takes their answers."""

    def __init__(
        self,
        store: Store,
        approvers: Approvers,
        forwarding: Forwarding,
        timing: Timing,
        reachable: Callable[[Target], bool],
        local: str,
    ) -> None:
        self._store = store
        self._approvers = approvers
        self._forwarding = forwarding
        self._timing = timing
        self._reachable = reachable
        self._local = local

    async def open(
        self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation, policy: ExecPolicy
    ) -> Approval:
        """Persist a question with its prompts; settle it at once when nobody can be reached.

        Raises:
            StoreError: nothing was persisted, so nothing will run.
        """
        routes = self._routes(request.agent, request.session, request.origin)
        for _ in range(_CODE_TRIES):
            draft = self._draft(request, plan, evaluation, routes)
            try:
                if routes or self._approvers.anybody(self._local):
                    return (await self._store.write(approvals.create, draft)).approval
                state, note = _fallback(policy, evaluation)
                return await self._store.write(
                    approvals.settle_unrouted, draft, state, _fallback_reply(state), note
                )
            except CodeTaken:
                continue
        raise CodeTaken

    def _routes(
        self, agent: AgentId, session: SessionKey, origin: Target | None
    ) -> tuple[Target, ...]:
        found = self._forwarding.routes(agent, session, origin)
        return tuple(
            place
            for place in found
            if self._reachable(place) and self._approvers.anybody(place.channel)
        )

    def _draft(
        self,
        request: ExecRequest,
        plan: ExecPlan,
        evaluation: Evaluation,
        routes: tuple[Target, ...],
    ) -> ApprovalDraft:
        return ApprovalDraft(
            id=new_id(),
            plan=plan,
            evaluation=evaluation,
            requester=request.requester,
            origin=request.origin,
            timeout_ms=self._timing.timeout_ms,
            remind_ms=self._timing.remind_ms,
            request_key=request.request_key,
            prompts=tuple(PromptDraft(target=place, payload="{}") for place in routes),
        )

    async def answer(self, answer: Answer) -> Answered:
        """Take a person's answer; the returned sentence is true for whoever gave it."""
        found = await self._store.read(approvals.find, answer.ref)
        if not found:
            return Answered(AnswerOutcome.UNKNOWN, sentences.unknown(answer.ref))
        if len(found) > 1:
            codes = tuple(approval.code for approval in found)
            return Answered(AnswerOutcome.AMBIGUOUS, sentences.ambiguous(answer.ref, codes))
        approval = found[0]
        refusal = self._refusal(answer, approval)
        return refusal or await self._resolve(answer, approval)

    def _refusal(self, answer: Answer, approval: Approval) -> Answered | None:
        standing = self._approvers.standing(answer.actor, approval.requester, answer.process)
        if standing is Standing.REQUESTER:
            return Answered(AnswerOutcome.REQUESTER, sentences.requester())
        if standing is Standing.NOT_LISTED:
            return Answered(AnswerOutcome.NOT_LISTED, sentences.not_listed(answer.actor))
        always = answer.reply is ApprovalReply.ALLOW_ALWAYS
        if always and approval.resolution is None and not approval.evaluation.promise:
            return Answered(
                AnswerOutcome.NOT_OFFERED, sentences.always_not_offered(approval), approval
            )
        return None

    async def _resolve(self, answer: Answer, approval: Approval) -> Answered:
        outcome = await self._store.write(
            approvals.answer, approval.id, answer.reply, answer.actor, answer.key, answer.note
        )
        if outcome is None:
            return Answered(AnswerOutcome.UNKNOWN, sentences.unknown(answer.ref))
        if outcome.won or outcome.repeated:
            return Answered(
                AnswerOutcome.ACCEPTED,
                sentences.accepted(outcome.approval, answer.reply),
                outcome.approval,
            )
        return Answered(
            AnswerOutcome.ALREADY_ENDED, sentences.ended(outcome.approval), outcome.approval
        )

    async def wait(self, approval_id: ApprovalId) -> Approval | None:
        """Wait until an approval is final and return it; ``None`` if no such approval exists."""
        changed = asyncio.Event()
        about = {f"approval:{approval_id}", "resync"}
        unsubscribe = self._store.subscribe(lambda note: changed.set() if note in about else None)
        try:
            while True:
                approval = await self._store.read(approvals.get, approval_id)
                if approval is None or approval.resolution is not None:
                    return approval
                await _either(changed, _LOOK_AGAIN_S)
                changed.clear()
        finally:
            unsubscribe()

    async def expire(self, limit: int = 500) -> tuple[ApprovalId, ...]:
        """Turn pending approvals past their deadline into expired ones; return which."""
        return await self._store.write(approvals.expire_due, limit)

    async def remind(self, limit: int = 100) -> int:
        """Enqueue the reminders that are due; return how many."""
        return await self._store.write(approvals.remind_due, limit)

    async def tell(self, approval: Approval, words: str) -> None:
        """Tell the places that were asked something that their people should know, once."""
        plan = approval.plan
        for place in self._routes(plan.agent, plan.session, approval.origin):
            key = f"{approval.id}:{place.channel}:{place.to}:{place.thread}"
            payload = json.dumps({"text": words})
            await self._store.write(outbox.enqueue_notice, approval.id, place, payload, key)

    async def cancel(self, approval_id: ApprovalId, note: str) -> Approval | None:
        """Withdraw a question; ``None`` if it is unknown or already ended."""
        return await self._store.write(approvals.cancel, approval_id, note)


async def _either(changed: asyncio.Event, seconds: float) -> None:
    # A note can be lost with its connection, so every waiter also looks by itself.
    try:
        await asyncio.wait_for(changed.wait(), seconds)
    except TimeoutError:
        return


def _fallback(policy: ExecPolicy, evaluation: Evaluation) -> tuple[ApprovalState, str]:
    """Decide at creation what happens when nobody can be reached (S1 "Ask fallback")."""
    if policy.ask_fallback is AskFallback.FULL:
        return ApprovalState.ALLOWED, "askFallback=full: nobody could be asked"
    listed = all(segment.decision is Decision.ALLOW for segment in evaluation.segments)
    if policy.ask_fallback is AskFallback.ALLOWLIST and evaluation.segments and listed:
        return ApprovalState.ALLOWED, "askFallback=allowlist: nobody could be asked, all is listed"
    return ApprovalState.DENIED, "nobody could be asked"


def _fallback_reply(state: ApprovalState) -> ApprovalReply:
    return ApprovalReply.ALLOW_ONCE if state is ApprovalState.ALLOWED else ApprovalReply.DENY

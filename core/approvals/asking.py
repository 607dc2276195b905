"""Ask people: choose the places, persist the question, settle it where nobody can be reached."""

from collections.abc import Callable
from dataclasses import dataclass

from core.approvals.approvers import Approvers
from core.approvals.forwarding import Forwarding
from core.approvals.ids import new_id
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, Evaluation
from core.model.identity import AgentId, SessionKey, Target
from core.model.policy import AskFallback, ExecPolicy
from core.store import Store, approvals
from core.store.drafts import ApprovalDraft, CodeTaken, PromptDraft

_CODE_TRIES = 8


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a question stands, and when it is repeated, in ms (``None``: never)."""

    timeout_ms: int
    remind_ms: int | None


@dataclass(frozen=True, slots=True)
class Asking:
    """Turn a request that policy asks about into a persisted question.

    ``reachable`` says whether a channel runs here; ``local`` is the channel of this machine, whose
    people see the list of what is pending without being sent anything.
    """

    store: Store
    approvers: Approvers
    forwarding: Forwarding
    timing: Timing
    reachable: Callable[[Target], bool]
    local: str

    async def open(
        self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation, policy: ExecPolicy
    ) -> Approval:
        """Persist a question with its prompts; settle it at once when nobody can be reached.

        Raises:
            StoreError: nothing was persisted, so nothing will run.
        """
        routes = self.routes(request.agent, request.session, request.origin)
        for _ in range(_CODE_TRIES):
            draft = self._draft(request, plan, evaluation, routes)
            try:
                if routes or self.approvers.anybody(self.local):
                    return (await self.store.write(approvals.create, draft)).approval
                state, note = _fallback(policy, evaluation)
                return await self.store.write(
                    approvals.settle_unrouted, draft, state, _fallback_reply(state), note
                )
            except CodeTaken:
                continue
        raise CodeTaken

    def routes(
        self, agent: AgentId, session: SessionKey, origin: Target | None
    ) -> tuple[Target, ...]:
        """Return the places where a request's people are asked, each once and reachable."""
        found = self.forwarding.routes(agent, session, origin)
        return tuple(
            place
            for place in found
            if self.reachable(place) and self.approvers.anybody(place.channel)
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
            timeout_ms=self.timing.timeout_ms,
            remind_ms=self.timing.remind_ms,
            request_key=request.request_key,
            prompts=tuple(PromptDraft(target=place, payload="{}") for place in routes),
        )


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

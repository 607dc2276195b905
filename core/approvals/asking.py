"""Ask people: choose the places, persist the question, settle it where nobody can be reached."""

from collections.abc import Callable
from dataclasses import dataclass

from core.approvals.approvers import Approvers
from core.approvals.forwarding import Asker, Forwarding, Ladder
from core.approvals.ids import new_id
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Decision, Evaluation
from core.model.identity import Target
from core.model.policy import AskFallback, ExecPolicy
from core.store import Store, approvals, origins
from core.store.clock import wall_ms
from core.store.drafts import ApprovalDraft, CodeTaken, PromptDraft

_CODE_TRIES = 8


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a question stands where there is no ladder, and when it is repeated, in ms.

    ``None`` never repeats it.
    """

    timeout_ms: int
    remind_ms: int | None


@dataclass(frozen=True, slots=True)
class Asking:
    """Turn a request that policy asks about into a persisted question.

    ``reachable`` says whether a channel runs here; ``local`` is the channel of this machine, whose
    people see the list of what is pending without being sent anything. ``now`` tells epoch ms.
    """

    store: Store
    approvers: Approvers
    forwarding: Forwarding
    timing: Timing
    reachable: Callable[[Target], bool]
    local: str
    now: Callable[[], int] = wall_ms

    async def open(
        self, request: ExecRequest, plan: ExecPlan, evaluation: Evaluation, policy: ExecPolicy
    ) -> Approval:
        """Persist a question with its prompts; settle it at once when nobody can be reached.

        Raises:
            StoreError: nothing was persisted, so nothing will run.
        """
        origin = await self._origin(request)
        ladder = self._ladder(request, origin)
        local = self.approvers.anybody(self.local, request.agent)
        for _ in range(_CODE_TRIES):
            draft = self._draft(request, plan, evaluation, ladder, origin, local=local)
            try:
                if ladder.routes or local:
                    return (await self.store.write(approvals.create, draft)).approval
                state, note = _fallback(policy, evaluation)
                words = f"{note}: {ladder.quiet}" if ladder.quiet else note
                return await self.store.write(
                    approvals.settle_unrouted, draft, state, _fallback_reply(state), words
                )
            except CodeTaken:
                continue
        raise CodeTaken

    async def _origin(self, request: ExecRequest) -> Target | None:
        """Return the chat that a request came from, else the one that its session remembers."""
        if request.origin is not None or not self.forwarding.needs_origin:
            return request.origin
        return await self.store.read(origins.origin_of, request.session)

    def _ladder(self, request: ExecRequest, origin: Target | None) -> Ladder:
        return self.forwarding.ladder(
            Asker(request.agent, request.session, origin, self.now()),
            self.timing.timeout_ms,
            self.timing.remind_ms,
            lambda place: (
                self.reachable(place) and self.approvers.anybody(place.channel, request.agent)
            ),
        )

    def _draft(
        self,
        request: ExecRequest,
        plan: ExecPlan,
        evaluation: Evaluation,
        ladder: Ladder,
        origin: Target | None,
        *,
        local: bool,
    ) -> ApprovalDraft:
        return ApprovalDraft(
            id=new_id(),
            plan=plan,
            evaluation=evaluation,
            requester=request.requester,
            origin=origin,
            timeout_ms=ladder.timeout_ms,
            reminders=ladder.reminders,
            request_key=request.request_key,
            prompts=tuple(
                PromptDraft(route.target, "{}", route.step, route.after_ms)
                for route in ladder.routes
            ),
            quorum=self.approvers.needed(request.agent),
            local=local,
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

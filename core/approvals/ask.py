"""Ask people: choose the places, persist the question, settle it where nobody can be reached."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from core.approvals.ids import new_id
from core.approvals.routing.approvers import Approvers
from core.approvals.routing.forwarding import (
    Asker,
    Fallback,
    Forwarding,
    Ladder,
    Route,
    Timing,
)
from core.approvals.routing.tiers import NO_TERMS, TierTerms
from core.model.approval import ApprovalReply, ApprovalState
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Evaluation, Tier
from core.model.identity import (
    API_CHANNEL,
    COMPANION_CHANNEL,
    NETWORK,
    PUSH_CHANNEL,
    Actor,
    AgentId,
    Intake,
    Target,
)
from core.model.pending_limits import DEFAULT_LIMITS, Crowded, PendingLimits
from core.store import Store, approvals
from core.store.approvals import TooMany
from core.store.approvals.idempotency import request_digest
from core.store.engine.clock import wall_ms
from core.store.people import push
from core.store.schema.records import ApprovalDraft, CodeTaken, Created, PromptDraft
from core.store.sessions import origins

_CODE_TRIES = 8


@dataclass(frozen=True, slots=True)
class ExtraPlaces:
    """The places in addition to the configured ones: on this machine, or browsers that take push.

    ``note`` says why there is none.
    """

    places: tuple[Target, ...] = ()
    note: str = ""

    def join(self, ladder: Ladder) -> Ladder:
        """Return a ladder whose first step asks here, too."""
        routes = {route.target: route for route in ladder.routes}
        routes |= {place: Route(place, 0, 0) for place in self.places}
        return replace(ladder, routes=tuple(routes.values()))


async def nobody_near(_request: ExecRequest) -> ExtraPlaces:
    """Return that this machine has no place to ask."""
    return ExtraPlaces()


_ONLY_APPROVER = (
    "nobody could be asked: {0} requested this and is the only approver who would be; add another "
    "person to the approvers, or a place where others answer to approvals.exec.targets"
)


@dataclass(frozen=True, slots=True)
class Asking:
    """Turn a request that policy asks about into a persisted question.

    ``reachable`` says whether a channel runs here; ``local`` is the channel of this machine, whose
    people, like the holders of tokens, see what is pending without being sent anything. ``tiers``
    says what heavier questions need, ``limits`` how many may wait. ``now`` returns epoch ms.
    ``nearby`` looks for a companion, which is asked in addition to the configured places.
    """

    store: Store
    approvers: Approvers
    forwarding: Forwarding
    timing: Timing
    reachable: Callable[[Target], bool]
    local: str
    tiers: Mapping[Tier, TierTerms] = field(default_factory=dict)
    limits: PendingLimits = DEFAULT_LIMITS
    now: Callable[[], int] = wall_ms
    nearby: Callable[[ExecRequest], Awaitable[ExtraPlaces]] = nobody_near

    async def open(
        self,
        request: ExecRequest,
        plan: ExecPlan,
        evaluation: Evaluation,
        fallback: Fallback,
    ) -> Created | Crowded:
        """Persist a question with its prompts; settle it at once when nobody can be reached.

        Where too many wait already, nothing is persisted and nobody is asked: ``Crowded``.

        Raises:
            StoreError: nothing was persisted, so nothing will run.
        """
        origin = await self._origin(request)
        terms = self.tiers.get(evaluation.tier, NO_TERMS)
        timing = self.timing.within(terms.timeout_ms)
        own = await self._own(request)
        near = await self._near(request, own)
        ladder = near.join(self._ladder(request, origin, timing, own))
        ladder = (await self._pushed(request, own)).join(ladder)
        local = bool(self.unprompted(request.requester.intake, request.agent, own))
        if not ladder.routes and not local and own:
            fallback = self._alone(request, origin, timing, fallback)
        for _ in range(_CODE_TRIES):
            draft = self._draft(request, plan, evaluation, ladder, origin, terms, local=local)
            try:
                if ladder.routes or local:
                    return await self.store.write(approvals.create, draft, self.limits)
                state, note = fallback.state, fallback.note
                words = f"{note}: {ladder.quiet}" if ladder.quiet else note
                words = f"{words}; {near.note}" if near.note else words
                return await self.store.write(
                    approvals.settle_unrouted, draft, state, _fallback_reply(state), words
                )
            except CodeTaken:
                continue
            except TooMany as many:
                return many.crowded
        raise CodeTaken

    async def _own(self, request: ExecRequest) -> frozenset[str]:
        """Return how lists of approvers may name the requester, whose answer would not count."""
        if request.requester.intake is not Intake.CHAT:
            return frozenset()
        return await self.store.read(approvals.references, request.requester)

    async def _pushed(self, request: ExecRequest, own: frozenset[str]) -> ExtraPlaces:
        """Return the browsers to notify: of people who may answer, did not ask and are awake."""
        if not self.reachable(Target(PUSH_CHANNEL, "")) or self.forwarding.holds(self.now()):
            return ExtraPlaces()
        listing = self.approvers.listing(request.agent)
        return ExtraPlaces(
            tuple(
                Target(PUSH_CHANNEL, one.id)
                for one in await self.store.read(push.live)
                if f"person:{one.person}" not in own
                and listing.admits(Actor(API_CHANNEL, one.session), one.person)
            )
        )

    async def _near(self, request: ExecRequest, own: frozenset[str]) -> ExtraPlaces:
        """Return where somebody on this machine would see it; not for the network, as below."""
        if request.requester.intake in NETWORK:
            return ExtraPlaces()
        if not self.approvers.anybody(COMPANION_CHANNEL, request.agent, own):
            return ExtraPlaces()
        return await self.nearby(request)

    def _alone(
        self, request: ExecRequest, origin: Target | None, timing: Timing, fallback: Fallback
    ) -> Fallback:
        """Deny where only the requester could be asked, and say so: askFallback is for outages."""
        nobody: frozenset[str] = frozenset()
        places = self._ladder(request, origin, timing, nobody).routes
        if not places and not self.unprompted(request.requester.intake, request.agent, nobody):
            return fallback
        who = request.requester.account
        return Fallback(ApprovalState.DENIED, _ONLY_APPROVER.format(who))

    def unprompted(
        self, intake: Intake, agent: AgentId, own: frozenset[str] = frozenset()
    ) -> list[str]:
        """Return where anybody who reads the list may answer: here, and with a token.

        A request from the network is not answered here (see ``Approvers.eligibility``).
        """
        channels = (API_CHANNEL,) if intake in NETWORK else (self.local, API_CHANNEL)
        return [one for one in channels if self.approvers.anybody(one, agent, own)]

    async def _origin(self, request: ExecRequest) -> Target | None:
        """Return the chat that a request came from, else the one that its session remembers."""
        if request.origin is not None or not self.forwarding.needs_origin:
            return request.origin
        return await self.store.read(origins.origin_of, request.session)

    def _ladder(
        self,
        request: ExecRequest,
        origin: Target | None,
        timing: Timing,
        own: frozenset[str],
    ) -> Ladder:
        return self.forwarding.ladder(
            Asker(request.agent, request.session, origin, self.now()),
            timing.timeout_ms,
            timing.remind_ms,
            lambda place: (
                self.reachable(place) and self.approvers.anybody(place.channel, request.agent, own)
            ),
        )

    def _draft(
        self,
        request: ExecRequest,
        plan: ExecPlan,
        evaluation: Evaluation,
        ladder: Ladder,
        origin: Target | None,
        terms: TierTerms,
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
            request_digest=request_digest(request),
            prompts=tuple(
                PromptDraft(route.target, "{}", route.step, route.after_ms)
                for route in ladder.routes
            ),
            quorum=terms.needed(self.approvers.needed(request.agent)),
            step_up=terms.step_up,
            local=local,
        )


def _fallback_reply(state: ApprovalState) -> ApprovalReply:
    return ApprovalReply.ALLOW_ONCE if state is ApprovalState.ALLOWED else ApprovalReply.DENY

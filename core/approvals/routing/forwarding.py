"""Choose the places that a prompt goes to, and when (S1 "Approval forwarding to chat channels").

::

    step 0 ───── for ─────▶ step 1 ── for ──▶ step 2 ─ for ─▶ denied
    asked at once           asked if nobody answered in time
         └ remind ┘ └ remind ┘

A step that would start in the quiet hours and may not wake anybody is left out, and so is one that
reaches nobody: the next one takes its place at once.
"""

from collections.abc import Callable
from dataclasses import dataclass

from core.approvals.routing.quiet_hours import QuietHours
from core.model.approval import ApprovalState
from core.model.identity import AgentId, SessionKey, Target
from core.settings.approvals import ForwardMode


@dataclass(frozen=True, slots=True)
class Timing:
    """How long a question is open where there is no ladder, and when it is repeated, in ms.

    ``None`` never repeats it.
    """

    timeout_ms: int
    remind_ms: int | None

    def within(self, timeout_ms: int | None) -> "Timing":
        """Return the timing of a question with its own time limit, repeated at half of it."""
        if timeout_ms is None:
            return self
        return Timing(timeout_ms, None if self.remind_ms is None else (timeout_ms + 1) // 2)


@dataclass(frozen=True, slots=True)
class Fallback:
    """What happens where nobody can be reached (S1 "Ask fallback"), and why, as a clause."""

    state: ApprovalState
    note: str


NO_FALLBACK = Fallback(ApprovalState.DENIED, "nobody could be asked")


@dataclass(frozen=True, slots=True)
class EscalationStep:
    """One step of the escalation ladder, in ms: its places, whether the session's chat too.

    ``remind_ms`` is the interval of reminders within the step; ``None`` never reminds. ``wake``:
    it is asked in the quiet hours as well.
    """

    targets: tuple[Target, ...]
    session: bool
    for_ms: int
    remind_ms: int | None = None
    wake: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """One place that is asked, ``after_ms`` after the clock's start, in this step (0 first)."""

    target: Target
    after_ms: int
    step: int


@dataclass(frozen=True, slots=True)
class Ladder:
    """Whom to ask and when. ``reminders`` are ms after the clock's start, ascending.

    ``quiet`` says until when nobody may be woken, where a step was left out for that.
    """

    routes: tuple[Route, ...]
    timeout_ms: int
    reminders: tuple[int, ...]
    quiet: str = ""


@dataclass(frozen=True, slots=True)
class Asker:
    """Whose question it is, the chat that it came from, and when it is asked (epoch ms)."""

    agent: AgentId
    session: SessionKey
    origin: Target | None
    at_ms: int


@dataclass(frozen=True, slots=True)
class Forwarding:
    """The routing rules of ``approvals.exec``; a filter that is ``None`` lets everything pass.

    Without ``steps`` there is one, made of ``mode`` and ``targets``.
    """

    enabled: bool
    mode: ForwardMode
    targets: tuple[Target, ...]
    agents: frozenset[str] | None = None
    session_matches: Callable[[str], bool] | None = None
    steps: tuple[EscalationStep, ...] = ()
    quiet: QuietHours | None = None

    @property
    def needs_origin(self) -> bool:
        """Return whether the chat that a session came from is asked at all."""
        if self.steps:
            return self.enabled and any(step.session for step in self.steps)
        return self.enabled and self.mode is not ForwardMode.TARGETS

    def holds(self, at_ms: int) -> bool:
        """Return whether nobody is to be woken at an epoch ms."""
        return self.quiet is not None and bool(self.quiet.hold(at_ms))

    def ladder(
        self,
        asker: Asker,
        for_ms: int,
        remind_ms: int | None,
        usable: Callable[[Target], bool],
    ) -> Ladder:
        """Return whom to ask and when; each place once, in order.

        ``for_ms`` and ``remind_ms`` are those of the single step where there is no ladder.
        ``usable`` says whether a place can be reached and has anybody who may answer.
        """
        steps = self.steps or (self._plain(for_ms, remind_ms),)
        plan = _Plan()
        if self.enabled and self._passes(asker):
            for step in steps:
                self._climb(plan, step, asker, usable)
        total = plan.offset_ms if plan.asked else sum(step.for_ms for step in steps)
        return Ladder(tuple(plan.routes.values()), total, tuple(plan.reminders), plan.quiet)

    def _climb(
        self, plan: "_Plan", step: EscalationStep, asker: Asker, usable: Callable[[Target], bool]
    ) -> None:
        places = [place for place in _places(step, asker.origin) if usable(place)]
        if not places:
            return
        if self.quiet and not step.wake and self.quiet.hold(asker.at_ms + plan.offset_ms):
            plan.quiet = self.quiet.words
            return
        plan.add(step, places)

    def _plain(self, for_ms: int, remind_ms: int | None) -> EscalationStep:
        targets = () if self.mode is ForwardMode.SESSION else self.targets
        return EscalationStep(targets, self.mode is not ForwardMode.TARGETS, for_ms, remind_ms)

    def _passes(self, asker: Asker) -> bool:
        if self.agents is not None and asker.agent not in self.agents:
            return False
        return self.session_matches is None or self.session_matches(asker.session)


class _Plan:
    """A ladder that is being built."""

    def __init__(self) -> None:
        self.routes: dict[Target, Route] = {}
        self.reminders: list[int] = []
        self.offset_ms = 0
        self.asked = 0
        self.quiet = ""

    def add(self, step: EscalationStep, places: list[Target]) -> None:
        """Add a step after the existing ones."""
        for place in places:
            self.routes.setdefault(place, Route(place, self.offset_ms, self.asked))
        ends_ms = self.offset_ms + step.for_ms
        if step.remind_ms:
            self.reminders.extend(range(self.offset_ms + step.remind_ms, ends_ms, step.remind_ms))
        self.offset_ms = ends_ms
        self.asked += 1


def _places(step: EscalationStep, origin: Target | None) -> tuple[Target, ...]:
    return ((origin,) if origin is not None and step.session else ()) + step.targets

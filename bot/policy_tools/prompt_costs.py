"""Count what prompts cost: how many by rule, reason and program, and what people answered."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from statistics import median

from core.model.approval import ApprovalReply
from core.model.decision import Decision, SegmentVerdict
from core.store.views.past_commands import PastCommand


@dataclass(frozen=True, slots=True)
class Cost:
    """What one rule, reason or program cost.

    ``unanswered`` prompts ended without a person's reply. ``median_ms`` is from the first copy to
    the reply, ``None`` if nobody replied.
    """

    name: str
    prompts: int
    allowed: int
    denied: int
    unanswered: int
    median_ms: int | None

    @property
    def accept_rate(self) -> float | None:
        """Return the share of allows among the replies, ``None`` if there are none."""
        replies = self.allowed + self.denied
        return self.allowed / replies if replies else None


@dataclass(slots=True)
class _Sum:
    prompts: int = 0
    allowed: int = 0
    denied: int = 0
    times_ms: list[int] = field(default_factory=list)

    def add(self, command: PastCommand) -> None:
        """Count one prompt."""
        self.prompts += 1
        if command.reply is None:
            return
        if command.reply is ApprovalReply.DENY:
            self.denied += 1
        else:
            self.allowed += 1
        if command.answer_ms is not None:
            self.times_ms.append(command.answer_ms)

    def cost(self, name: str) -> Cost:
        """Return the total under a name."""
        return Cost(
            name,
            self.prompts,
            self.allowed,
            self.denied,
            self.prompts - self.allowed - self.denied,
            round(median(self.times_ms)) if self.times_ms else None,
        )


def prompts_of(commands: Iterable[PastCommand]) -> tuple[PastCommand, ...]:
    """Return the commands for which people saw a prompt; an identical retry shares one."""
    return tuple(one for one in commands if one.asked and not one.joined)


def total(prompts: Iterable[PastCommand]) -> Cost:
    """Return the cost of all prompts together."""
    found = _Sum()
    for prompt in prompts:
        found.add(prompt)
    return found.cost("all")


def by_reason(prompts: Iterable[PastCommand]) -> tuple[Cost, ...]:
    """Return the cost of each reason, the most expensive first."""
    return _grouped(prompts, lambda one: [one.evaluation.reason.value] if one.evaluation else [])


def by_rule(prompts: Iterable[PastCommand]) -> tuple[Cost, ...]:
    """Return the cost of each rule, named as in verdicts; a line counts for each that asked."""
    return _grouped(prompts, lambda one: [segment.rule for segment in _asking(one)])


def by_program(prompts: Iterable[PastCommand]) -> tuple[Cost, ...]:
    """Return the cost of each program by its real path; a line counts for each that asked."""
    return _grouped(
        prompts, lambda one: [segment.resolved or segment.argv[0] for segment in _asking(one)]
    )


def _asking(prompt: PastCommand) -> tuple[SegmentVerdict, ...]:
    found = prompt.evaluation
    if found is None:
        return ()
    return tuple(one for one in found.segments if one.decision is Decision.ASK)


def _grouped(
    prompts: Iterable[PastCommand], names: Callable[[PastCommand], Iterable[str]]
) -> tuple[Cost, ...]:
    sums: defaultdict[str, _Sum] = defaultdict(_Sum)
    for prompt in prompts:
        for name in dict.fromkeys(names(prompt)):
            sums[name].add(prompt)
    costs = (found.cost(name) for name, found in sums.items())
    return tuple(sorted(costs, key=lambda one: (-one.prompts, one.name)))

"""Try a new policy on the past: the implementation of ``sayso policy backtest``."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from bot.policy_tools.judge import Judge, Judged
from bot.policy_tools.past_commands import replayed
from core.model.approval import ApprovalReply
from core.model.decision import Decision
from core.store.views.past_commands import PastCommand


class Change(StrEnum):
    """How the new policy differs from the present one for a command; in the order of the report."""

    RUNS_DENIED = "runs although a person denied it"
    RUNS = "newly runs unasked"
    ASKS = "newly asks"
    NO_MORE_ASKS = "no longer asks"
    DENIES = "newly denied"


@dataclass(frozen=True, slots=True)
class Difference:
    """Like commands that the two policies decide differently; ``times``: how often asked for."""

    agent: str
    text: str
    before: Judged
    after: Judged
    changes: tuple[Change, ...]
    times: int


@dataclass(frozen=True, slots=True)
class Unjudged:
    """Commands that cannot be re-evaluated, and why."""

    text: str
    why: str
    times: int


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a new policy would have done, compared with the present one.

    ``prompts_before`` and ``prompts_after`` count the commands that each policy asks about.
    ``planned_anew`` commands had no stored plan and were parsed from their text.
    """

    judged: int
    planned_anew: int
    prompts_before: int
    prompts_after: int
    differences: tuple[Difference, ...]
    unjudged: tuple[Unjudged, ...]

    def count(self, change: Change) -> int:
        """Return how many commands changed in a given way."""
        return sum(one.times for one in self.differences if change in one.changes)


_Key = tuple[str, str, Judged, Judged, tuple[Change, ...]]


def backtest(
    commands: Iterable[PastCommand], present: Judge, proposed: Judge, cwd: str
) -> Backtest:
    """Judge each command under both policies, on the same plan.

    ``cwd`` is where commands without a stored plan are read.
    """
    differences: Counter[_Key] = Counter()
    unjudged: Counter[tuple[str, str]] = Counter()
    tally: Counter[str] = Counter()
    for command in commands:
        replay = replayed(command, present, cwd)
        if isinstance(replay.plan, str):
            unjudged[command.text, replay.plan] += 1
            continue
        before = Judged.of(present.judge(replay.plan))
        after = Judged.of(proposed.judge(replay.plan))
        tally["judged"] += 1
        tally["anew"] += replay.anew
        tally["before"] += before.decision is Decision.ASK
        tally["after"] += after.decision is Decision.ASK
        changes = changes_of(before.decision, after.decision, command.reply)
        if changes:
            differences[command.agent, command.text, before, after, changes] += 1
    return Backtest(
        tally["judged"],
        tally["anew"],
        tally["before"],
        tally["after"],
        tuple(sorted((Difference(*key, times) for key, times in differences.items()), key=_order)),
        tuple(Unjudged(*key, times) for key, times in unjudged.items()),
    )


def changes_of(
    before: Decision, after: Decision, reply: ApprovalReply | None
) -> tuple[Change, ...]:
    """List every way in which a command is decided differently, the most serious first.

    What a person denied and the new policy runs is listed even if the present one also runs it.
    """
    found: list[Change] = []
    if after is Decision.ALLOW and reply is ApprovalReply.DENY:
        found.append(Change.RUNS_DENIED)
    if before is not after and after is Decision.ALLOW:
        found.append(Change.RUNS)
    if before is not after and after is Decision.ASK:
        found.append(Change.ASKS)
    if before is Decision.ASK and after is not Decision.ASK:
        found.append(Change.NO_MORE_ASKS)
    if before is not after and after is Decision.DENY:
        found.append(Change.DENIES)
    return tuple(found)


def _order(one: Difference) -> tuple[int, int, str]:
    return list(Change).index(one.changes[0]), -one.times, one.text

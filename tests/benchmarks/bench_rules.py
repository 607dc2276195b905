"""Measure judging with a thousand rules and ten thousand entries next to judging with none.

Goals: p50 at most 30 µs a plan and p99 at most 200 µs (issue 9, "What this must show" 5).
"""

import time

import pytest

from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, PlannedCommand
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.policy.rules.compiled import NO_PROVISIONS, Provisions
from tests.core.policy.configured_rules import provisions, rule
from tests.support.pace import Pace, words
from tests.support.plans import LISTED, command, plan_of

RULES, ENTRIES, ROUNDS = 1_000, 10_000, 60
GOAL_P50_US, GOAL_P99_US = 30.0, 200.0
LINES = (
    (("ls", "-la", "src"),),
    (("cat", "notes.txt"), ("wc", "-l")),
    (("grep", "-rn", "TODO", "src", "tests"),),
    (("git", "status"), ("git", "diff", "--stat")),
    (("git", "push", "origin", "branch7"),),
    (("rm", "-rf", "build"),),
    (("make", "test"),),
    (("python3", "tool.py"), ("jq", ".a")),
)


def thousand_rules() -> Provisions:
    """Return rules of every kind; a third of them are about programs that the lines name."""
    made = []
    for number in range(RULES // 4):
        made += [
            rule("ask", "git", "push", "origin", f"release{number}"),
            rule("deny", f"tool{number}", "<ANY>", "<PATH>"),
            rule("allow", glob=f"/opt/p{number}/bin/*"),
            rule("deny", "git", f"verb{number}", "<NAME>"),
        ]
    return provisions(
        *made[: RULES - 2], rule("deny", "rm", "-rf", "/"), rule("ask", effect="network")
    )


def ten_thousand_entries() -> Allowlist:
    """Return patterns and vectors as years of allow-always leave them."""
    kinds = ("/opt/p{}/bin/tool", "~/Projects/**/bin/tool{}")
    entries = [AllowlistEntry(kinds[i % 2].format(i)) for i in range(ENTRIES // 2)]
    entries += [
        AllowlistEntry("/usr/bin/git", argv=("push", "origin", f"branch{i}"))
        for i in range(ENTRIES // 2)
    ]
    everyday = ("ls", "cat", "grep", "git", "wc")
    return Allowlist([*entries, *(AllowlistEntry(f"/usr/bin/{n}") for n in everyday)], "/home/a")


def samples(
    plans: list[ExecPlan], allowlist: Allowlist, held: Provisions, pace: Pace
) -> list[float]:
    """Return the sorted times of judging each plan in every round, in µs of this thread.

    What other processes take of a shared machine is not a cost of the judge.
    """
    found = []
    for _ in range(ROUNDS):
        pace.sample()
        for plan in plans:
            started = time.thread_time_ns()
            evaluate(plan, LISTED, allowlist, provisions=held)
            found.append((time.thread_time_ns() - started) / 1000)
    return sorted(found)


@pytest.mark.benchmark
def test_a_thousand_rules_cost_little(capsys: pytest.CaptureFixture[str]) -> None:
    """The index finds the few rules that can concern a program; all others cost nothing."""
    plans = [plan_of(*_commands(vectors)) for vectors in LINES]
    allowlist, held = ten_thousand_entries(), thousand_rules()
    without = samples(plans, Allowlist([], "/home/a"), NO_PROVISIONS, Pace())
    pace = Pace()
    with_all = samples(plans, allowlist, held, pace)
    p50, p99 = with_all[len(with_all) // 2], with_all[len(with_all) * 99 // 100]
    floor, slow = without[len(without) // 2], pace.slowness()
    with capsys.disabled():
        print(
            f"\njudge a plan at {RULES} rules and {ENTRIES} entries: p50 {p50:.1f} µs (goal <= "
            f"{GOAL_P50_US:.0f}), p99 {p99:.1f} µs (goal <= {GOAL_P99_US:.0f}); with none: p50 "
            f"{floor:.1f} µs, {p50 / floor:.1f} x"
        )
        print(words(slow))
    assert p50 <= 2 * GOAL_P50_US * slow
    assert p99 <= 2 * GOAL_P99_US * slow


def _commands(vectors: tuple[tuple[str, ...], ...]) -> list[PlannedCommand]:
    return [command(*argv) for argv in vectors]

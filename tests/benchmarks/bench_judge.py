"""Measure judging next to the floor: the grammar's bare parse of the same lines.

Goals: p50 at most 6 times the parse and 60 µs, a match at 100,000 patterns at most 5 µs.
"""

import time
from collections.abc import Callable

import pytest
import tree_sitter
import tree_sitter_bash

from core.model.approval import AllowlistEntry
from core.model.command import ExecPlan, Reading, Word
from core.policy.judge.evaluate import evaluate
from core.policy.matching.allowlist import Allowlist
from core.shell import reader
from tests.support.pace import Pace, words
from tests.support.plans import LISTED, command, plan_of

LINES = (
    "ls -la src",
    "cat notes.txt | wc -l",
    "grep -rn TODO src tests",
    "cat notes.txt | grep -i 'error' | sort -u",
    "git status && git diff --stat",
    "grep -n 'def main' src/app.py | head -20",
    "ls src tests docs && cat README.md && echo 'all read'",
)
PATTERNS = 100_000
ROUNDS = 400
PACE_EVERY = 20
GOAL_RATIO, GOAL_US, MATCH_US = 6.0, 60.0, 5.0


def literal(argv: tuple[Word, ...]) -> list[str]:
    """Return words of which none is open."""
    words = [word for word in argv if isinstance(word, str)]
    assert len(words) == len(argv), argv
    return words


def judge_line(line: str, allowlist: Allowlist, plans: dict[Reading, ExecPlan]) -> None:
    """Read a line and judge it; programs come from a warm cache, as in a running gateway."""
    reading = reader.read(line)
    assert isinstance(reading, Reading), line
    plan = plans.get(reading)
    if plan is None:
        plan = plans[reading] = plan_of(*(command(*literal(argv)) for argv in reading.argvs))
    evaluate(plan, LISTED, allowlist)


def many_patterns() -> Allowlist:
    """Return 100,000 patterns of the shapes that people write."""
    kinds = ("/opt/p{}/bin/tool", "/opt/p{}/bin/*", "~/Projects/**/bin/tool{}", "/srv/**/p{}/*")
    entries = [AllowlistEntry(kinds[i % 4].format(i)) for i in range(PATTERNS)]
    everyday = [AllowlistEntry(f"/usr/bin/{name}") for name in ("ls", "cat", "grep", "git", "echo")]
    return Allowlist([*entries, *everyday], "/home/alice")


def microseconds(work: Callable[[], object]) -> float:
    """Return the time of one call in µs."""
    started = time.perf_counter_ns()
    work()
    return (time.perf_counter_ns() - started) / 1000


def middle(samples: list[float]) -> float:
    """Return the median."""
    return sorted(samples)[len(samples) // 2]


def measure_judging(allowlist: Allowlist, pace: Pace) -> list[tuple[str, float, float]]:
    """Return (line, parse p50, judge p50) in µs, the two interleaved."""
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))
    plans: dict[Reading, ExecPlan] = {}
    found = []
    for line in LINES:
        judge_line(line, allowlist, plans)
        parsed, judged = [], []
        for number in range(ROUNDS):
            if number % PACE_EVERY == 0:
                pace.sample()
            parsed.append(microseconds(lambda: parser.parse(line.encode())))  # noqa: B023 - called at once
            judged.append(microseconds(lambda: judge_line(line, allowlist, plans)))  # noqa: B023 - called at once
        found.append((line, middle(parsed), middle(judged)))
    return found


def measure_matching(allowlist: Allowlist) -> dict[str, float]:
    """Return the p50 of one match in µs: an exact hit, a wildcard hit and a miss."""
    paths = {
        "exact hit": "/usr/bin/ls",
        "wildcard hit": "/home/alice/Projects/a/b/bin/tool50002",
        "miss": "/usr/local/lib/node/bin/nothing",
    }
    return {
        name: middle([microseconds(lambda: allowlist.match([path])) for _ in range(4000)])  # noqa: B023 - called at once
        for name, path in paths.items()
    }


@pytest.mark.benchmark
def test_judging(capsys: pytest.CaptureFixture[str]) -> None:
    """Judge realistic lines at 100,000 patterns, and match among them, next to the bare parse."""
    allowlist = many_patterns()
    pace = Pace()
    rows = measure_judging(allowlist, pace)
    matches = measure_matching(allowlist)
    parsed, judged = middle([row[1] for row in rows]), middle([row[2] for row in rows])
    slow = pace.slowness()
    with capsys.disabled():
        print(f"\n{'line':<58} parse µs  judge µs  ratio")
        for line, parse_us, judge_us in rows:
            print(f"{line:<58} {parse_us:8.1f}  {judge_us:8.1f}  {judge_us / parse_us:5.1f}")
        print(
            f"judge: p50 {judged:.1f} µs (goal <= {GOAL_US:.0f} µs), {judged / parsed:.1f} x the "
            f"bare parse of {parsed:.1f} µs (goal <= {GOAL_RATIO:.0f} x)"
        )
        for name, cost in matches.items():
            print(f"match among {PATTERNS} patterns, {name}: {cost:.2f} µs (goal <= {MATCH_US} µs)")
        print(words(slow))
    assert judged <= 2 * GOAL_US * slow
    assert judged / parsed <= 2 * GOAL_RATIO
    assert max(matches.values()) <= 4 * MATCH_US * slow

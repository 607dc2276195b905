"""Check that a policy decides what its owner expects; implements ``sayso policy test``."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from bot.explain.batch_entry import Entry, entry_of, parse_line
from bot.policy_tools.judge import Judge, Judged, listed
from core.errors import BadRequest, SaysoError
from core.model.approval import AllowlistEntry
from core.model.decision import Decision
from core.planning.planner import Refusal
from core.settings import CoreSettings
from core.settings.rules import RuleSection

_SETTINGS = ("security", "ask", "trust", "safe_bins")


@dataclass(frozen=True, slots=True)
class Failure:
    """One expectation that fails: its location, and what happens instead."""

    place: str
    what: str


@dataclass(frozen=True, slots=True)
class Checked:
    """What was checked: rules with their examples, shipped profiles, expectations."""

    rules: int
    examples: int
    profiles: int
    expectations: int
    failures: tuple[Failure, ...]


def rules_of(settings: CoreSettings) -> tuple[RuleSection, ...]:
    """Return every rule of a configuration."""
    agents = (rule for agent in settings.agents.entries for rule in agent.tools.exec.rules)
    return (*settings.tools.exec.rules, *agents)


def examples_in(rules: Iterable[RuleSection]) -> int:
    """Count the examples that reading the rules has checked."""
    return sum(len(rule.examples.match) + len(rule.examples.miss) for rule in rules)


def failures_in(
    lines: Iterable[bytes], name: str, judge: Judge, cwd: str
) -> tuple[int, list[Failure]]:
    """Judge each line of expectations; return how many there are, and those that fail.

    Blank lines and lines that begin with ``#`` or ``//`` are skipped.
    """
    count, failures = 0, []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith((b"#", b"//")):
            continue
        count += 1
        what = _problem(line, judge, cwd)
        if what is not None:
            failures.append(Failure(f"{name}:{number}", what))
    return count, failures


def _problem(line: bytes, judge: Judge, cwd: str) -> str | None:
    """Return how a line's expectation fails, ``None`` if it holds."""
    try:
        fields = parse_line(line)
        expected = _expected(fields)
        entry = entry_of(fields, cwd)
        found = _judged(fields, entry, judge)
    except (SaysoError, ValueError) as error:
        return f"cannot be judged: {error}"
    if found.decision is expected:
        return None
    command = fields.get("command", fields.get("argv"))
    return (
        f"{command!a}: expected {expected.word}, decided {found.decision.word}"
        f" ({found.reason}): {found.why}"
    )


def _expected(fields: Mapping[str, object]) -> Decision:
    for decision in Decision:
        if fields.get("expect") == decision.word:
            return decision
    raise BadRequest("`expect` must be one of allow, ask, deny.")


def _judged(fields: Mapping[str, object], entry: Entry, judge: Judge) -> Judged:
    """Judge as the configuration does; what the line sets replaces what is configured."""
    given = {setting: getattr(entry.policy, setting) for setting in _SETTINGS if setting in fields}
    policy = replace(judge.policy(entry.request.agent), **given)
    plan = judge.plan(entry.request, policy)
    if isinstance(plan, Refusal):
        return Judged.of(plan)
    own = None
    if "allowlist" in fields:
        own = listed(tuple(AllowlistEntry(pattern) for pattern in entry.allowlist))
    return Judged.of(judge.judge(plan, policy, own, entry.acl))

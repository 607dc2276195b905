"""Show which rules were checked for a command, and which one decided."""

from collections.abc import Iterator
from dataclasses import dataclass

from core.model.command import ExecPlan, PlannedCommand
from core.model.policy import Trust
from core.policy.matching.matchers import surroundings
from core.policy.rules.rules import Looked, Rules, Ruling

_MOST_MISSED = 12
"""Number of rules without a match that are listed for a terminal; the rest are counted."""


@dataclass(frozen=True, slots=True)
class RuleTrace:
    """The rules checked for one command of a plan; ``ruling`` is the winner, if one matched.

    ``argv`` is the command itself, or one that its wrapper runs.
    """

    argv: tuple[str, ...]
    looked: tuple[Looked, ...]
    ruling: Ruling | None


def traces_of(plan: ExecPlan, rules: Rules, trust: Trust) -> tuple[RuleTrace, ...]:
    """Return the rules checked for each command, in the plan's order; nothing without rules."""
    if not rules.rules:
        return ()
    strict = trust is Trust.STRICT
    return tuple(
        look
        for command in plan.commands
        for look in _traces(command, plan.cwd.path, rules, strict=strict)
    )


def _traces(
    command: PlannedCommand, folder: str, rules: Rules, *, strict: bool
) -> Iterator[RuleTrace]:
    file = command.executable
    if file is None:
        return
    at, whole = surroundings(command, folder), not command.inner
    looked = rules.looked_at(command.argv, file, at, whole=whole, strict=strict)
    ruling = rules.ruling(command.argv, file, at, whole=whole, strict=strict)
    yield RuleTrace(command.argv, looked, ruling)
    for one in command.inner:
        yield from _traces(one, at.cwd, rules, strict=strict)


def to_json(traces: tuple[RuleTrace, ...]) -> list[dict[str, object]]:
    """Return each command with its rules, as JSON for programs."""
    return [
        {
            "argv": list(look.argv),
            "rules": [
                {
                    "place": one.rule.place,
                    "reason": one.rule.reason,
                    "matched": one.decision is not None,
                    "decision": None if one.decision is None else one.decision.word,
                    "winner": _wins(one, look),
                }
                for one in look.looked
            ],
        }
        for look in traces
    ]


def shown(traces: tuple[RuleTrace, ...]) -> list[str]:
    """Format the rules for a terminal: the winner marked, many that do not match only counted."""
    lines: list[str] = []
    for look in traces:
        lines += ["", f"rules checked for {'  '.join(ascii(word) for word in look.argv)}:"]
        missed = [one for one in look.looked if one.decision is None]
        shown_all = len(missed) <= _MOST_MISSED
        lines += [
            f"  {_line(one, look)}" for one in look.looked if shown_all or one.decision is not None
        ]
        if not shown_all:
            lines.append(f"     {len(missed)} rules do not match; --json lists them")
    return lines


def _wins(one: Looked, look: RuleTrace) -> bool:
    return look.ruling is not None and look.ruling.rule is one.rule


def _line(one: Looked, look: RuleTrace) -> str:
    verdict = "no match" if one.decision is None else one.decision.word
    mark = "=>" if _wins(one, look) else "  "
    return f"{mark} {verdict:<8}  {one.rule.words}"

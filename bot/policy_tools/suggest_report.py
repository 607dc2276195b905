"""Format what prompts cost, and the commands that would save some; nothing is applied."""

from collections.abc import Iterator

from bot.counted import counted
from bot.policy_tools.prompt_costs import Cost
from bot.policy_tools.suggest import Report, Suggestion
from bot.policy_tools.suggestible import add_command
from core.text.render import redact

_MOST_SHOWN = 10


def to_json(found: Report) -> dict[str, object]:
    """Return everything, as JSON for programs; secrets are masked."""
    return {
        "all": _cost(found.all),
        "reasons": [_cost(one) for one in found.reasons],
        "rules": [_cost(one) for one in found.rules],
        "programs": [_cost(one) for one in found.programs],
        "suggestions": [
            {
                "agent": one.agent,
                "pattern": one.entry.pattern,
                "argv": None if one.entry.argv is None else list(one.entry.argv),
                "prompts": one.prompts,
                "command": add_command(one.agent, one.entry),
            }
            for one in found.suggestions
            if printable(one)
        ],
        "saved": found.saved,
    }


def _cost(one: Cost) -> dict[str, object]:
    return {
        "name": redact(one.name).text,
        "prompts": one.prompts,
        "allowed": one.allowed,
        "denied": one.denied,
        "unanswered": one.unanswered,
        "acceptRate": one.accept_rate,
        "medianAnswerMs": one.median_ms,
    }


def shown(found: Report) -> str:
    """Format the report for a terminal: the costs, then the commands to copy."""
    if not found.all.prompts:
        return "Nobody was asked in this period.\n"
    lines = [f"{counted(found.all.prompts, 'prompt')}: {_answers(found.all)}"]
    for title, costs in (
        ("by reason", found.reasons),
        ("by rule", found.rules),
        ("by program", found.programs),
    ):
        lines += _table(title, costs)
    lines += _never_denied(found.programs)
    lines += _diff(found)
    return "\n".join(lines) + "\n"


def printable(one: Suggestion) -> bool:
    """Return whether a suggestion can be copied: no secret in it, no misleading character."""
    command = add_command(one.agent, one.entry)
    return redact(command).text == command


def _answers(one: Cost) -> str:
    parts = [f"{one.allowed} allowed", f"{one.denied} denied", f"{one.unanswered} unanswered"]
    if one.median_ms is not None:
        parts.append(f"median answer {one.median_ms / 1000:.1f} s")
    return ", ".join(parts)


def _table(title: str, costs: tuple[Cost, ...]) -> Iterator[str]:
    if not costs:
        return
    yield ""
    yield f"{title:<12}  prompts  accepted  median answer"
    for one in costs[:_MOST_SHOWN]:
        rate = "-" if one.accept_rate is None else f"{one.accept_rate:.0%}"
        time = "-" if one.median_ms is None else f"{one.median_ms / 1000:.1f} s"
        yield f"{'':<12}  {one.prompts:7}  {rate:>8}  {time:>13}  {redact(one.name).text}"
    if len(costs) > _MOST_SHOWN:
        yield f"  and {len(costs) - _MOST_SHOWN} more; --json has all"


def _never_denied(programs: tuple[Cost, ...]) -> Iterator[str]:
    found = [one for one in programs if one.allowed and not one.denied]
    if found:
        cost = sum(one.prompts for one in found)
        yield ""
        whose, verb = counted(len(found), "program"), "was" if len(found) == 1 else "were"
        yield f"{whose} cost {counted(cost, 'prompt')} and {verb} never denied"


def _diff(found: Report) -> Iterator[str]:
    yield ""
    listed = [one for one in found.suggestions if printable(one)]
    if not listed:
        yield "no entry is suggested"
        return
    entries = counted(len(listed), "entry", "entries")
    yield f"{entries} would have saved {found.saved} of the prompts; to add:"
    for one in listed:
        yield f"  {add_command(one.agent, one.entry)}    # {counted(one.prompts, 'prompt')}"

"""Format a backtest for people and for programs."""

from collections.abc import Iterator

from bot.counted import counted
from bot.policy_tools.backtest import Backtest, Change, Difference
from bot.policy_tools.judge import Judged
from core.text.render import redact

_MOST_SHOWN = 20


def to_json(found: Backtest) -> dict[str, object]:
    """Return everything as JSON, each difference with both verdicts; secrets are masked."""
    return {
        "judged": found.judged,
        "plannedAnew": found.planned_anew,
        "prompts": {"before": found.prompts_before, "after": found.prompts_after},
        "counts": {_key(change): found.count(change) for change in Change},
        "differences": [
            {
                "agent": one.agent,
                "command": redact(one.text).text,
                "changes": [_key(change) for change in one.changes],
                "times": one.times,
                "before": _verdict(one.before),
                "after": _verdict(one.after),
            }
            for one in found.differences
        ],
        "unjudged": [
            {"command": redact(one.text).text, "why": redact(one.why).text, "times": one.times}
            for one in found.unjudged
        ],
    }


def _key(change: Change) -> str:
    first, *rest = change.name.lower().split("_")
    return first + "".join(word.title() for word in rest)


def _verdict(judged: Judged) -> dict[str, str]:
    why = redact(judged.why).text
    return {"decision": judged.decision.word, "reason": judged.reason, "why": why}


def shown(found: Backtest) -> str:
    """Format the backtest for a terminal: prompts, then kinds of change, the most serious first."""
    before, after = found.prompts_before, found.prompts_after
    judged, now = counted(found.judged, "command"), counted(before, "prompt")
    lines = [f"{judged} judged: {now} now, {after} under the new policy"]
    if found.planned_anew:
        lines.append(
            f"{found.planned_anew} of them ran unasked without a recorded folder; they were "
            "planned here"
        )
    for change in Change:
        lines += _section(found, change)
    lines += _unjudged(found)
    return "\n".join(lines) + "\n"


def _section(found: Backtest, change: Change) -> Iterator[str]:
    total = found.count(change)
    if not total:
        return
    yield ""
    yield f"{change}: {total}"
    # A command is listed once, under the most serious of its changes.
    listed = [one for one in found.differences if one.changes[0] is change]
    yield from (f"  {_line(one)}" for one in listed[:_MOST_SHOWN])
    if len(listed) > _MOST_SHOWN:
        yield f"  and {len(listed) - _MOST_SHOWN} more; --json has all"


def _line(one: Difference) -> str:
    times = "" if one.times == 1 else f"{one.times} x  "
    words = f"{one.before.decision.word} -> {one.after.decision.word}"
    why = redact(one.after.why).text
    return f"{times}{one.agent}  {words}  {redact(one.text).text}\n      {why}"


def _unjudged(found: Backtest) -> Iterator[str]:
    if not found.unjudged:
        return
    yield ""
    yield f"cannot be judged: {sum(one.times for one in found.unjudged)}"
    for one in found.unjudged[:_MOST_SHOWN]:
        yield f"  {redact(one.text).text}\n      {redact(one.why).text}"
    if len(found.unjudged) > _MOST_SHOWN:
        yield f"  and {len(found.unjudged) - _MOST_SHOWN} more; --json has all"

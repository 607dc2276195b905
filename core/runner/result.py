"""Turn a supervisor's report into a result."""

from collections.abc import Mapping

from core.errors import PlanDrift, SpawnError
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.runner.live_output import LiveBuffer
from core.runner.supervisor.output.capture import LARGEST_TAIL
from core.runner.supervisor.protocol import Drift, Ended, Failed

UNSEEN = "sayso: the supervisor of this run died; the exit status is unknown\n"


_TYPES: dict[str, type] = {
    "exit_code": int,
    "signal": int,
    "text": str,
    "tail": str,
    "total_bytes": int,
    "truncated": bool,
    "duration_ms": int,
    "timed_out": bool,
    "fit": bool,
}
_OPTIONAL = frozenset({"exit_code", "signal", "tail"})
_LARGEST = 2**53


def _is_one(value: object, kind: type, *, optional: bool) -> bool:
    """Return whether a field has its type; no number is larger than the store takes."""
    if value is None:
        return optional
    return type(value) is kind and not (isinstance(value, int) and abs(value) > _LARGEST)


def finished(
    run_id: ApprovalId, plan: ExecPlan, ended: Ended, live: LiveBuffer | None = None
) -> Finished:
    """Return how a run ended, with the separate streams that its live output kept.

    Raises:
        TypeError: no supervisor reports that.
    """
    report: Mapping[str, object] = ended
    if not all(_is_one(report[one], it, optional=one in _OPTIONAL) for one, it in _TYPES.items()):
        raise TypeError("a field of the report has a value of another type")
    text, tail = ended["text"], ended["tail"]
    return Finished(
        run_id=run_id,
        exit_code=ended["exit_code"],
        signal=ended["signal"],
        output=Output(
            text=text,
            tail=text[-LARGEST_TAIL:] if tail is None else tail,
            total_bytes=ended["total_bytes"],
            truncated=ended["truncated"],
        ),
        duration_ms=ended["duration_ms"],
        timed_out=ended["timed_out"],
        streams=None if live is None else live.streams(ended["totals"]),
        drift="" if ended["drift"] is None else _drifted(plan, ended["drift"]),
    )


def _drifted(plan: ExecPlan, found: Drift) -> str:
    """Return at which command a line ended because something had changed while it ran."""
    place, count = found["place"], len(plan.commands)
    name = plan.commands[place].argv[0]
    return (
        f"{found['why']}, so `{name}` (command {place + 1} of {count}) was not started, nor what "
        "follows it. What precedes it ran. Request the rest again."
    )


def unseen(
    run_id: ApprovalId,
    duration_ms: int,
    live: LiveBuffer | None = None,
    *,
    timed_out: bool,
    words: str = UNSEEN,
) -> Finished:
    """Return a run whose end was not seen: neither code nor signal, worded ``unknown``."""
    output = Output(words, words, 0)
    streams = None if live is None else live.streams([])
    return Finished(run_id, None, None, output, duration_ms, timed_out=timed_out, streams=streams)


def failure(failed: Failed) -> PlanDrift | SpawnError:
    """Return the error for a run of which nothing was started."""
    if failed["drift"]:
        return PlanDrift(f"{failed['why']}, so nothing ran. Ask again.")
    return SpawnError(f"Nothing ran: {failed['why']}.")

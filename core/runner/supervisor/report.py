"""Report how a run ended."""

import os

from core.runner.supervisor.output.capture import Output
from core.runner.supervisor.protocol import Drift, Report
from core.runner.supervisor.spawn import NotStarted

NOT_STARTED = 126
"""The status that a shell gives a command that could not be started."""

Outcome = tuple[int | None, int | None]
"""The exit code or the signal of a command; neither if it outlived KILL."""


def outcome(last: int | NotStarted, statuses: dict[int, int]) -> Outcome:
    """Return how a command ended, by the wait statuses that were seen."""
    if isinstance(last, NotStarted):
        return NOT_STARTED, None
    if last not in statuses:
        return None, None
    code = os.waitstatus_to_exitcode(statuses[last])
    return (code, None) if code >= 0 else (None, -code)


def shell_status(how: Outcome) -> int:
    """Return what a shell would put into ``$?``."""
    code, number = how
    return code if code is not None else 128 + (number or 0)


def ended(
    how: Outcome,
    output: Output,
    totals: list[int],
    *,
    timed_out: bool,
    seconds: float,
    drift: Drift | None,
) -> Report:
    """Return the last report of a run, for a supervisor that takes no other job."""
    text, truncated = output.text()
    return {
        "ended": {
            "exit_code": how[0],
            "signal": how[1],
            "timed_out": timed_out,
            "text": text,
            "tail": output.tail() if truncated else None,
            "truncated": truncated,
            "total_bytes": output.total_bytes,
            "totals": totals,
            "duration_ms": round(seconds * 1000),
            "drift": drift,
            "fit": False,
        }
    }

"""Have an executor end what others left of runs: its mark and its family lead to it."""

import logging
from collections.abc import Awaitable, Sequence

from core.errors import SaysoError
from core.isolation import wire
from core.planning.environment import RUN_MARK

_log = logging.getLogger(__name__)
_STUCK = (
    "executor %s of %s cannot be ended, and keeps its place until it has: it, or %s processes that "
    "it left, wait for a device"
)


def report(executor: str, user: str, left: int) -> None:
    """Log that an executor goes on although it was killed."""
    _log.error(_STUCK, executor, user, left)


def params(run_id: str, leaders: Sequence[object]) -> wire.Object:
    """Return what names a run to an executor."""
    return {"mark": f"{RUN_MARK}={run_id}", "leaders": leaders}


async def ended(run_id: str, answer: Awaitable[wire.Object]) -> bool:
    """Wait for the end of what was left of a run; return whether the executor still answers."""
    try:
        if (await answer).get("left"):
            _log.error("run %s left processes that cannot be ended", run_id)
    except (SaysoError, TimeoutError) as failure:
        _log.error("what run %s left may go on: %s", run_id, failure)
        return not isinstance(failure, TimeoutError)
    return True

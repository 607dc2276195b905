"""Finish what was begun for a caller, even if the caller leaves in the middle.

A request whose connection ends is cancelled at whatever it waits for. What changes something must
not stop there: a decision that is stored is also to be recorded.
"""

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any, TypeVar

from core.errors import SaysoError

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_under_way: set[asyncio.Task[Any]] = set()
"""The loop itself remembers tasks only weakly."""


async def to_its_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Return the result of the work, which continues if the caller is cancelled.

    How it fails after that is logged.
    """
    task = asyncio.create_task(work)
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.add_done_callback(_report)
        raise


def _report(task: asyncio.Task[Any]) -> None:
    failure = None if task.cancelled() else task.exception()
    if isinstance(failure, SaysoError):
        _log.warning("a request failed after its caller had left: %s", failure)
    elif failure is not None:
        _log.error("a request failed after its caller had left", exc_info=failure)

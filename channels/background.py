"""Run background tasks that nobody waits for, and end them with their channel."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from core.errors import ChannelError

LONGEST_S = 900.0
"""Seconds after which a reply is of no use to the person who waits for it."""
_STOP_PATIENCE_S = 3.0
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Background:
    """The tasks that are under way."""

    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    def spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        """Start a task; the caller continues."""
        task = asyncio.create_task(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def finish(self) -> None:
        """Wait a moment for what is under way, then cancel it."""
        await finish(self._under_way, _STOP_PATIENCE_S)


async def finish(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> bool:
    """Wait at most this many seconds for tasks, then cancel them; return whether all had ended."""
    working = set(tasks)
    if not working:
        return True
    _, late = await asyncio.wait(working, timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return not late


async def patiently(send: Callable[[], Awaitable[_T]], longest_s: float = LONGEST_S) -> _T:
    """Send, and retry each time that the platform asks to wait, for ``longest_s`` in all.

    Raises:
        ChannelError: refused, unreachable, or still limited at the end.
    """
    left = longest_s
    while True:
        try:
            return await send()
        except ChannelError as error:
            wait = (error.retry_after_ms or 0) / 1000
            if error.retry_after_ms is None or wait > left:
                raise
        left -= max(wait, 1.0)
        await asyncio.sleep(wait)

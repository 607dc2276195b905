"""Do in the background what nobody waits for, and let it end with its channel."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

_STOP_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Background:
    """The tasks that are under way."""

    _under_way: set[asyncio.Task[None]] = field(default_factory=set)

    def spawn(self, coroutine: Coroutine[None, None, None]) -> None:
        """Begin a task; the caller goes on."""
        task = asyncio.create_task(coroutine)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def finish(self) -> None:
        """Wait a moment for what is under way, then give it up."""
        await finish(self._under_way, _STOP_PATIENCE_S)


async def finish(tasks: Iterable[asyncio.Task[Any]], seconds: float) -> bool:
    """Wait at most these seconds for tasks, then cancel them; return whether none was late."""
    working = set(tasks)
    if not working:
        return True
    _, late = await asyncio.wait(working, timeout=seconds)
    for task in late:
        task.cancel()
    await asyncio.gather(*late, return_exceptions=True)
    return not late

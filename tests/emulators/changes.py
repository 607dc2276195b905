"""Wake the tasks that wait for something to happen in an emulator's world."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(slots=True, kw_only=True)
class Changes:
    """What every world has: a condition that is notified of each change."""

    changed: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def notify(self) -> None:
        """Wake every task that waits for a change."""
        async with self.changed:
            self.changed.notify_all()

    async def until(self, met: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until a condition holds.

        Raises:
            TimeoutError: it did not hold in time.
        """
        async with asyncio.timeout(seconds), self.changed:
            await self.changed.wait_for(met)

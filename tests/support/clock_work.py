"""Count the calls that a clock makes."""

import asyncio
import time
from dataclasses import dataclass, field


@dataclass
class Work:
    """Count the calls, and return when the next one is due."""

    next_ms: int | None = None
    dues: list[int] = field(default_factory=list)
    beats: int = 0
    fails: int = 0
    held: asyncio.Event | None = None

    async def due(self) -> int | None:
        """Record the time of the call."""
        self.dues.append(round(time.time() * 1000))
        if self.fails:
            self.fails -= 1
            raise RuntimeError("a sweep that failed")
        if self.held is not None:
            await self.held.wait()
        return self.next_ms

    async def beat(self) -> None:
        """Count."""
        self.beats += 1

    async def retain(self) -> None:
        """Never called here: it is a nightly job."""

    async def watch(self) -> None:
        """Do nothing; called every ten seconds."""

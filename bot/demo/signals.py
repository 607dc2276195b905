"""End the demo by a signal: once, and with all cleanup."""

import asyncio
import os
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.wiring.sighup import ALL, let_go

_STANDARD = (0, 1, 2)
_KILLED = 128
"""What a shell adds to the number of the signal that ended a program."""


@dataclass(slots=True)
class Ending:
    """The signal that ends a demo; ``by`` is 0 before there is one."""

    by: int = 0
    _playing: "asyncio.Task[int] | None" = None
    _awaited: asyncio.Event | None = field(default=None)

    async def of(self, playing: Coroutine[None, None, int]) -> int:
        """Play to the end and return the exit code; a signal cancels the play.

        SIGHUP stays ignored if ``nohup`` started the demo.
        """
        loop = asyncio.get_running_loop()
        self._playing = asyncio.ensure_future(playing)
        for number in ALL:
            if signal.getsignal(number) is not signal.SIG_IGN:
                loop.add_signal_handler(number, self._hear, number)
        try:
            return await self._playing
        except asyncio.CancelledError:
            if not self.by:
                raise
            return _KILLED + self.by

    @contextmanager
    def awaited(self) -> Iterator[asyncio.Event]:
        """Have a signal set an event inside the block, without cancelling anything."""
        self._awaited = asyncio.Event()
        try:
            yield self._awaited
        finally:
            self._awaited = None

    def _hear(self, number: int) -> None:
        if self.by:
            return  # another one would interrupt the cleanup
        self.by = number
        if number == signal.SIGHUP:
            let_go(tuple(fd for fd in _STANDARD if os.isatty(fd)))
        if self._awaited is not None:
            self._awaited.set()
        elif self._playing is not None:
            self._playing.cancel()

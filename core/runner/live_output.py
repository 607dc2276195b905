"""Read what a run prints while it lasts: each watcher at its own pace, none delays the run.

The supervisor puts the first bytes of a stream on a shelf, and rings
(``core.runner.supervisor.output.shared_buffer``). All watchers read the same memory, so a slow one
costs nothing, and a late one still gets all of it.
"""

import asyncio
import contextlib
import fcntl
import mmap
import os
from collections.abc import AsyncIterator

from core.errors import SpawnError
from core.model.result import OutputChunk, Stream, StreamName, Streams
from core.model.stdio import Capture, Stdio
from core.runner.supervisor.output.capture import LARGEST_HEAD_BYTES

_LARGEST_CHUNK = 64 * 1024
_PAUSE_S = 0.005
"""Between two reads of a bell, so that a command which prints byte by byte does not occupy us."""

_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
"""What is mapped stays there: reading beyond a file that was cut short would end this process."""


class _Seen:
    """The first bytes of one stream, as far as the bell has reported them."""

    __slots__ = ("_view", "bell", "heard", "memory", "name")

    def __init__(self, name: StreamName, size: int) -> None:
        self.name = name
        self.heard = 0
        self.memory = os.memfd_create("sayso-output", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        try:
            os.ftruncate(self.memory, size)
            fcntl.fcntl(self.memory, fcntl.F_ADD_SEALS, _SEALS)
            self._view = mmap.mmap(self.memory, size, prot=mmap.PROT_READ)
            self.bell = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        except BaseException:
            os.close(self.memory)
            raise

    def hear(self) -> None:
        """Read what the bell has reported since last time."""
        with contextlib.suppress(BlockingIOError):
            self.heard = min(len(self._view), self.heard + os.eventfd_read(self.bell))

    def fill(self, data: bytes) -> None:
        """Add what the supervisor had not put there yet."""
        if not self.heard:
            self.heard = os.pwrite(self.memory, data[: len(self._view)], 0)

    def read(self, start: int, most: int) -> bytes:
        """Return up to ``most`` bytes from ``start`` on."""
        return self._view[start : min(self.heard, start + most)]


class LiveBuffer:
    """What one run has printed so far, up to the cap of what is kept."""

    def __init__(self, *streams: tuple[StreamName, int]) -> None:
        """Make room for this many bytes of each stream.

        Raises:
            SpawnError: no memory or descriptor is left for it.
        """
        self._seen: list[_Seen] = []
        self._loop = asyncio.get_running_loop()
        self._news = asyncio.Event()
        self._listening = False
        self._over = False
        try:
            for name, size in streams:
                self._seen.append(_Seen(name, size))
        except OSError as error:
            self.end()
            raise SpawnError(f"no space for its output: {error.strerror}") from error

    def descriptors(self) -> list[int]:
        """Return memory and bell of each stream, for the supervisor."""
        return [fd for one in self._seen for fd in (one.memory, one.bell)]

    def listen(self) -> None:
        """Listen to the bells from now on."""
        if not self._listening and not self._over:
            self._listening = True
            for one in self._seen:
                self._loop.add_reader(one.bell, self._on_bell, one)

    def end(self, text: str = "") -> None:
        """Take the last of the output, once; watchers read on to the end.

        ``text`` is the output of a run that ended before its supervisor knew of the watcher.
        """
        if self._over:
            return
        self._over = True
        for one in self._seen:
            self._loop.remove_reader(one.bell)
            one.hear()
            if one.name is StreamName.OUTPUT:
                one.fill(text.encode())
            os.close(one.bell)
            os.close(one.memory)
        self._news.set()

    def streams(self, totals: list[int]) -> Streams | None:
        """Return what was kept of separate streams, after the end; ``None`` if there are none.

        ``totals`` are the bytes printed on each; empty if they are unknown.
        """
        if len(self._seen) == 1:
            return None
        stdout, stderr = (one.read(0, one.heard) for one in self._seen)
        out_bytes, error_bytes = totals or (len(stdout), len(stderr))
        return Streams(Stream(stdout, out_bytes), Stream(stderr, error_bytes))

    async def chunks(self) -> AsyncIterator[OutputChunk]:
        """Yield all of it, from the start to the end of the run."""
        read = [0] * len(self._seen)
        while True:
            news, over = self._news, self._over
            for index, one in enumerate(self._seen):
                while data := one.read(read[index], _LARGEST_CHUNK):
                    read[index] += len(data)
                    yield OutputChunk(one.name, data)
            if over:
                return
            if news is self._news:
                await news.wait()

    def _on_bell(self, one: _Seen) -> None:
        self._loop.remove_reader(one.bell)
        self._loop.call_later(_PAUSE_S, self._resume, one)
        one.hear()
        self._news.set()
        self._news = asyncio.Event()

    def _resume(self, one: _Seen) -> None:
        if not self._over:
            self._loop.add_reader(one.bell, self._on_bell, one)


def live_buffer_of(stdio: Stdio) -> LiveBuffer:
    """Return the live output of a run, still empty."""
    if stdio.capture is Capture.SEPARATE:
        return LiveBuffer(
            (StreamName.STDOUT, stdio.most_stdout), (StreamName.STDERR, stdio.most_stderr)
        )
    return LiveBuffer((StreamName.OUTPUT, LARGEST_HEAD_BYTES))

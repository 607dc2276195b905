"""Drain what a run prints, so that the run never blocks and memory never fills."""

import mmap
import os
import select
import time

from core.runner.supervisor.output.capture import LARGEST_TAIL_BYTES, Output
from core.runner.supervisor.output.pipe_reader import GONE, Tap, pipe_tap
from core.runner.supervisor.output.pty import Terminal
from core.runner.supervisor.output.shared_buffer import Shelf

_BUFFER = 256 * 1024
_CHATTY = 32 * 1024
_LAST_READS = 16

_BUSY_PART, _HOT_PART = 6, 2
_PAUSE_S, _LONG_PAUSE_S = 0.01, 1.0
"""Draining costs CPU, and the commands' CPU limit is this process's too: after a sixth of it, reads
are spaced out, after half of it to one per second, so that not even a day of `yes` reaches it."""


class Drain:
    """One pipe for all that a run prints, one for each stream, or a terminal; ``poll`` has them.

    It is ``calm`` while little has passed through it.
    """

    def __init__(self, poll: select.poll) -> None:
        self.output = Output()
        self.terminal: Terminal | None = None
        self._poll = poll
        # Anonymous memory is not touched before it is read into; a bytearray is zeroed at once.
        self._buffer = memoryview(mmap.mmap(-1, _BUFFER))
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._busy_s = self._hot_s = 0.0
        self._main = pipe_tap()
        self._more: Tap | None = None
        poll.register(self._main.outlet, select.POLLIN)

    @property
    def inlet(self) -> int:
        """Return what standard output is for the commands."""
        return self._main.inlet

    @property
    def error_inlet(self) -> int:
        """Return what standard error is for the commands."""
        return self._main.inlet if self._more is None else self._more.inlet

    @property
    def calm(self) -> bool:
        """Return whether the pipe and its buffer are as small as at first."""
        return not self._main.wide

    @property
    def totals(self) -> list[int]:
        """Return the bytes of standard output and of standard error, if they are separate."""
        if self._more is None or self._more.shelf is None:
            return []
        return [self._main.total_bytes, self._more.total_bytes]

    def pace(self, cpu_s: float) -> None:
        """Slow down reading a flood so that it stays within a CPU limit (seconds)."""
        self._busy_s, self._hot_s = cpu_s / _BUSY_PART, cpu_s / _HOT_PART

    def keep(self, shelves: list[Shelf]) -> None:
        """Show both streams on one shelf, or keep them apart on two, until ``renew``."""
        if len(shelves) == 1:
            self.output.show(shelves[0])
        elif shelves:
            self._main.shelf, stderr = shelves
            self._add(pipe_tap(stderr))

    def open_terminal(self, source: int) -> None:
        """Read from a terminal until ``renew``; the content of ``source`` is typed there."""
        self.terminal = Terminal(os.pread(source, os.fstat(source).st_size, 0))
        self._add(Tap(self.terminal.master, -1))
        self._poll.modify(self.terminal.master, select.POLLIN | select.POLLOUT)

    def _add(self, tap: Tap) -> None:
        self._more = tap
        self._poll.register(tap.outlet, select.POLLIN)

    def take_ready(self, ready: set[int]) -> None:
        """Read what is available, and type what there is room for."""
        if self._main.outlet in ready:
            self._take(self._main)
        more = self._more
        if more is None or more.outlet not in ready:
            return
        if self.terminal is not None and self.terminal.typing:
            self.terminal.type()
            if not self.terminal.typing:
                self._poll.modify(more.outlet, select.POLLIN)
        if self._take(more) == GONE:
            self._poll.unregister(more.outlet)

    def note(self, text: str) -> None:
        """Add a message of Sayso's to what the commands print."""
        data = memoryview(text.encode())
        self.output.add(data)
        if self._more is not None:
            self._more.count(data)

    def rest(self) -> None:
        """Read what is left; no process has the other ends any more."""
        for tap in self._taps():
            while self._take(tap) > 0:
                pass

    def finish(self) -> None:
        """Read what is left, then stop, even if a survivor has the other end."""
        for tap in self._taps():
            for _ in range(_LAST_READS):
                if self._take(tap) <= 0:
                    break

    def renew(self) -> None:
        """Reset for another run."""
        self.output = Output()
        self._main.shelf = None
        self._main.total_bytes = 0
        more, self._more = self._more, None
        if more is None:
            return
        # A disconnected terminal is not polled any more.
        self._poll.register(more.outlet, 0)
        self._poll.unregister(more.outlet)
        if self.terminal is not None:
            self.terminal.close()
            self.terminal = None
        else:
            os.close(more.inlet)
            os.close(more.outlet)

    def _taps(self) -> tuple[Tap, ...]:
        return (self._main,) if self._more is None else (self._main, self._more)

    def _take(self, tap: Tap) -> int:
        """Read what is available; return how much (bytes), 0 for nothing, or ``GONE``."""
        skipped = self._skip(tap) if tap.wide else 0
        count = tap.read(self._buffer)
        if count > 0:
            data = self._buffer[:count]
            self.output.add(data)
            tap.count(data)
            if count >= _CHATTY:
                self._pace(tap)
        return count + skipped if skipped else count

    def _skip(self, tap: Tap) -> int:
        """Skip what would be kept neither at the start nor at the end."""
        if not self.output.full or not (tap.shelf is None or tap.shelf.full):
            return 0
        skipped = tap.skip(self._nowhere, LARGEST_TAIL_BYTES)
        self.output.total_bytes += skipped
        tap.total_bytes += skipped
        return skipped

    def _pace(self, tap: Tap) -> None:
        if not tap.wide:
            tap.widen()
        used = time.process_time()
        if used > self._busy_s:
            time.sleep(_PAUSE_S if used < self._hot_s else _LONG_PAUSE_S)

"""Read what a run prints: it never blocks and never fills memory. Stdlib leaf modules only."""

import contextlib
import fcntl
import mmap
import os
import time

from core.runner.output import Output

_BUFFER = 256 * 1024
_CHATTY = 32 * 1024
_WIDE_PIPE = 1024 * 1024
_LAST_READS = 16

_BUSY_S, _HOT_S = 10.0, 30.0
_PAUSE_S, _LONG_PAUSE_S = 0.01, 1.0
"""Draining costs CPU, and the command's CPU limit is this process's too: after 10 s of it reads are
spaced out, after 30 s to one a second, so that not even a day of `yes` reaches the 60 s."""


class Drain:
    """One pipe for both streams of all commands of a run; ``calm`` while little went through."""

    def __init__(self) -> None:
        self.outlet, self.inlet = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.outlet, False)
        self.output = Output()
        # Anonymous memory is not touched before it is read into; a bytearray is zeroed at once.
        self._buffer = memoryview(mmap.mmap(-1, _BUFFER))
        self._wide = False

    def take(self) -> int:
        """Take what is there; return how much (bytes), 0 for nothing."""
        try:
            count = os.readv(self.outlet, [self._buffer])
        except BlockingIOError:
            return 0
        self.output.add(self._buffer[:count])
        if count >= _CHATTY:
            self._pace()
        return count

    def finish(self) -> None:
        """Take what is left in the pipe; then leave it, even if a survivor holds its other end."""
        os.close(self.inlet)
        for _ in range(_LAST_READS):
            if self.take() == 0:
                break
        os.close(self.outlet)

    @property
    def calm(self) -> bool:
        """Return whether the pipe and its buffer are as small as at first."""
        return not self._wide

    def rest(self) -> None:
        """Take what is left in the pipe; nobody else has its other end any more."""
        while self.take():
            pass

    def renew(self) -> None:
        """Begin anew for another run, after ``rest``."""
        self.output = Output()

    def _pace(self) -> None:
        if not self._wide:
            self._wide = True
            with contextlib.suppress(OSError):  # the user's pipe pages may be spent: no harm
                fcntl.fcntl(self.outlet, fcntl.F_SETPIPE_SZ, _WIDE_PIPE)
        used = time.process_time()
        if used > _BUSY_S:
            time.sleep(_PAUSE_S if used < _HOT_S else _LONG_PAUSE_S)

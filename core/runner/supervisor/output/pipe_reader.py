"""Read one end of what a run prints, and never wait for it."""

import contextlib
import fcntl
import os
import struct
import termios

from core.runner.supervisor.output.shared_buffer import Shelf

GONE = -1
"""No process has the other end any more, and nothing is left in it."""

_INT = struct.Struct("i")
_NONE = _INT.pack(0)
_WIDE_PIPE = 1024 * 1024


class Tap:
    """Where commands print: ``inlet`` is their end, ``outlet`` ours. ``shelf`` keeps the start."""

    __slots__ = ("inlet", "outlet", "shelf", "total_bytes", "wide")

    def __init__(self, outlet: int, inlet: int, shelf: Shelf | None = None) -> None:
        self.outlet = outlet
        self.inlet = inlet
        self.shelf = shelf
        self.total_bytes = 0
        self.wide = False
        os.set_blocking(outlet, False)

    def read(self, buffer: memoryview) -> int:
        """Read what is available; return how much (bytes), 0 for nothing yet, or ``GONE``."""
        try:
            return os.readv(self.outlet, [buffer])
        except BlockingIOError:
            return 0
        except OSError:  # what a terminal says (EIO) when its last command has gone
            return GONE

    def skip(self, to: int, spared: int) -> int:
        """Move all but the last ``spared`` bytes to ``to`` unread; return how many (bytes)."""
        there = _INT.unpack(fcntl.ioctl(self.outlet, termios.FIONREAD, _NONE))[0]
        if there <= spared:
            return 0
        try:
            return os.splice(self.outlet, to, there - spared, flags=os.SPLICE_F_NONBLOCK)
        except OSError:  # a kernel that cannot, or nothing there after all: it is read instead
            return 0

    def widen(self) -> None:
        """Enlarge the pipe, so that a run which prints much has to wait less often."""
        self.wide = True
        with contextlib.suppress(OSError):  # a terminal, or the user's pipe pages are spent
            fcntl.fcntl(self.outlet, fcntl.F_SETPIPE_SZ, _WIDE_PIPE)

    def count(self, data: memoryview) -> None:
        """Count what was read, and keep the start of it."""
        self.total_bytes += len(data)
        if self.shelf is not None:
            self.shelf.put(data)


def pipe_tap(shelf: Shelf | None = None) -> Tap:
    """Return a tap on a new pipe."""
    outlet, inlet = os.pipe2(os.O_CLOEXEC)
    return Tap(outlet, inlet, shelf)

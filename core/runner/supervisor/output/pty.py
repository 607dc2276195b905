"""Give a command a terminal without a person at it."""

import fcntl
import os
import struct
import termios

LINES, COLUMNS = 24, 80

_SIZE = struct.Struct("HHHH")
_END = b"\x04"
"""The character that ends what is typed (termios(3), ``VEOF``), at the start of a line."""


class Terminal:
    """Both ends of a pseudo-terminal; ``typed`` is what a person would have typed, then the end.

    The slave stays open here, so that reading the master does not fail before the run is over.
    """

    __slots__ = ("_left", "_slave", "master", "path")

    def __init__(self, typed: bytes) -> None:
        self.master, self._slave = os.openpty()
        os.set_blocking(self.master, False)
        os.fchmod(self._slave, 0o600)  # as created, the group `tty` could print into it
        self.path = os.ttyname(self._slave)
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, _SIZE.pack(LINES, COLUMNS, 0, 0))
        # Within a line, the first such character only passes on what precedes it.
        unended = bool(typed) and not typed.endswith(b"\n")
        self._left = memoryview(typed + _END * (2 if unended else 1))

    @property
    def typing(self) -> bool:
        """Return whether something is still to be typed."""
        return bool(self._left)

    def type(self) -> None:
        """Type as much as the command has room for."""
        try:
            self._left = self._left[os.write(self.master, self._left) :]
        except BlockingIOError:
            return
        except OSError:  # disconnected: no process reads it any more
            self._left = self._left[:0]

    def close(self) -> None:
        """Close both ends; processes that still have the terminal are disconnected."""
        os.close(self._slave)
        os.close(self.master)

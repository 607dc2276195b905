"""Set and name the size of a terminal."""

import fcntl
import struct
import termios
from dataclasses import dataclass

_WINSIZE = struct.Struct("HHHH")


@dataclass(frozen=True, slots=True)
class Size:
    """Rows and columns of characters."""

    rows: int = 24
    columns: int = 80

    def set_on(self, master: int) -> None:
        """Set it; the kernel lets the program in front know (SIGWINCH).

        Raises:
            OSError: no process has the terminal any more.
        """
        fcntl.ioctl(master, termios.TIOCSWINSZ, _WINSIZE.pack(self.rows, self.columns, 0, 0))

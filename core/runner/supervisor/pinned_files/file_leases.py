"""Block processes that would overwrite a file in place while it starts (fcntl(2), "Leases").

Under a read lease, the kernel makes a process that opens the file for writing wait until the lease
is given back, at most /proc/sys/fs/lease-break-time (45 s). A lease is refused while any process
has the file open for writing, or mapped so. So a file that is checked under its lease is the one
that starts (exec.md: "does not beat an in-place overwrite").
"""

import errno
import fcntl
import os
import signal
import time

HOLD_S = 2.0
"""How long a script is kept from writers, so that its interpreter has opened and read it."""
_SHORTEST_S = 0.5


class Leases:
    """The leases of what was started lately."""

    __slots__ = ("_covered", "_held", "_until")

    def __init__(self) -> None:
        self._held: list[int] = []
        self._covered: set[int] = set()
        self._until = 0.0

    def open(self, path: str) -> tuple[int, str]:
        """Open and lease a file by its name; return the descriptor, and what forbids it.

        Raises:
            OSError: it cannot be opened.
        """
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY)
        self._held.append(fd)
        self._until = time.monotonic() + HOLD_S
        return fd, take(fd)

    def cover(self, fd: int) -> bool:
        """Lease what is open as ``fd`` if it is not yet; ``False`` if a process can write to it.

        A waiting writer gets its turn first if a lease that is still held would end soon.

        Raises:
            OSError: it cannot be reopened.
        """
        if self._until - time.monotonic() < _SHORTEST_S:
            self.give_back(at_once=True)
        if fd not in self._covered:
            if self.open(f"/proc/self/fd/{fd}")[1]:
                return False
            self._covered.add(fd)
        return True

    def until(self, deadline: float) -> float:
        """Return when to give the leases back, or an earlier deadline (monotonic seconds)."""
        return min(deadline, self._until) if self._held else deadline

    def give_back(self, *, at_once: bool = False) -> None:
        """Let writers continue whose time has come."""
        if self._held and (at_once or time.monotonic() >= self._until):
            for fd in self._held:
                os.close(fd)
            self._held.clear()
            self._covered.clear()


def is_exposed(status: os.stat_result) -> bool:
    """Return whether this process's user could overwrite a file, or grant itself that right."""
    return os.geteuid() in {0, status.st_uid} or status.st_mode & 0o022 != 0


def take(fd: int) -> str:
    """Lease an open file; return what forbids starting it, or ``""``.

    A file system without leases leaves only the check of the file's identity.
    """
    try:
        # By default the kernel reports a waiting writer by SIGIO, which would end this process.
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
    except OSError as error:
        if error.errno == errno.EAGAIN:
            return "is open for writing"
        if error.errno == errno.EACCES and os.access(f"/proc/self/fd/{fd}", os.W_OK):
            return "belongs to another user, and this one may write to it"
    return ""


def drop(fd: int) -> None:
    """Give the lease of an open file back, if it has one."""
    try:
        fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except OSError:
        return  # there was none to give back

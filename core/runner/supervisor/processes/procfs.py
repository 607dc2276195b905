"""Read what the kernel says about processes."""
# ruff: noqa: PTH208
# The supervisor's import budget has no room for pathlib.

import errno
import os
from collections.abc import Iterator

_CHILDREN = "/proc/thread-self/children"
_PART = 65536
LACKING = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}
"""Errors because of which nothing can be read: never taken for a process that is gone."""

_spare: list[int] = []
"""A descriptor that is given up for reading when no other is left."""


class Process:
    """One line of ``/proc/PID/stat``: state letter, parent, group, session, start in ticks."""

    __slots__ = ("pgid", "pid", "ppid", "sid", "start_ticks", "state")

    def __init__(self, pid: int, fields: list[str]) -> None:
        self.pid = pid
        self.state = fields[0]
        self.ppid = int(fields[1])
        self.pgid = int(fields[2])
        self.sid = int(fields[3])
        self.start_ticks = int(fields[19])

    @property
    def alive(self) -> bool:
        """Return whether it can still act: a zombie (or dead) process cannot."""
        return self.state not in {"Z", "X", "x"}


def process(pid: int) -> Process | None:
    """Return a process by number, or ``None`` if there is none.

    Raises:
        OSError: this process lacks the descriptors or the memory to read it, as in all below.
    """
    line = _read(f"/proc/{pid}/stat").decode("utf-8", "replace")
    if not line:
        return None
    # The name in parentheses may itself contain blanks and parentheses: only the last closes it.
    return Process(pid, line[line.rindex(")") + 2 :].split())


def identity(pid: int) -> list[int]:
    """Return a process's number and start in ticks, which identify only it; 0 if it is gone."""
    found = process(pid)
    return [pid, 0 if found is None else found.start_ticks]


def processes() -> list[Process]:
    """Return every process that is visible here."""
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [one for one in found if one is not None]


def own_children() -> list[int]:
    """Return the direct children of this single-threaded process, zombies included."""
    if os.access(_CHILDREN, os.R_OK):
        return [int(word) for word in _read(_CHILDREN).split()]
    own = os.getpid()  # a kernel without CONFIG_PROC_CHILDREN
    return [one.pid for one in processes() if one.ppid == own]


def count_descendants(pid: int, most: int) -> int:
    """Return how many processes descend from one; counting ends soon after ``most``."""
    if not os.access(_CHILDREN, os.R_OK):
        return count_among(processes(), pid)
    found = 0
    for _ in descendants(pid):
        found += 1
        if found > most:
            break
    return found


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that descend from one; none if the kernel has no list of children."""
    parents = [pid]
    while parents:
        children = _children(parents.pop())
        yield from children
        parents += children


def _children(pid: int) -> list[int]:
    """Return a process's children: those of each of its threads."""
    tasks = threads_of(pid)
    words = (_read(f"/proc/{pid}/task/{task}/children").split() for task in tasks)
    return [int(word) for line in words for word in line]


def threads_of(pid: int) -> list[str]:
    """Return the threads of a process by number, its first one first, which may have ended."""
    try:
        return sorted(os.listdir(f"/proc/{pid}/task"), key=int)
    except OSError as error:
        if error.errno in LACKING:
            raise
        return []


def count_among(everyone: list[Process], pid: int) -> int:
    """Return how many descend from a process, for a kernel that has no list of children."""
    family = {pid}
    while grown := {one.pid for one in everyone if one.ppid in family} - family:
        family |= grown
    return len(family) - 1


def threads() -> int:
    """Return how many threads the machine has, in all processes (proc(5), ``loadavg``)."""
    return int(_read("/proc/loadavg").split()[3].partition(b"/")[2])


def boot_id() -> str:
    """Return the kernel's name for this boot: process numbers mean nothing in another one."""
    return _read("/proc/sys/kernel/random/boot_id").decode("ascii").strip()


def environment_of(pid: int) -> bytes:
    """Return a process's initial environment, NUL between entries; empty if unreadable."""
    return _read(f"/proc/{pid}/environ")


def _read(path: str) -> bytes:
    """Return a file's bytes, none if it is gone or not ours to read."""
    try:
        return _read_with_spare(path)
    except OSError as error:
        if error.errno in LACKING:
            raise
        return b""


def keep_spare() -> None:
    """Reserve a descriptor, so that this process and its forks can always list their children.

    Without it they could not end the processes left to them. Only for processes with one thread.
    """
    _spare.append(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))


def _read_with_spare(path: str) -> bytes:
    try:
        return _read_all(path)
    except OSError as error:
        if error.errno not in {errno.EMFILE, errno.ENFILE} or not _spare:
            raise
    os.close(_spare.pop())
    try:
        return _read_all(path)
    finally:
        keep_spare()


def _read_all(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    parts: list[bytes] = []
    try:
        while part := os.read(fd, _PART):
            parts.append(part)
    finally:
        os.close(fd)
    return b"".join(parts)

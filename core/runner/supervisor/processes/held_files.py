"""Count what one run holds of a disk: files in its private folder, and removed ones in use.

The inspected run controls all of it, and also the time that a look takes. A look that does not end
in time assumes that the run holds all that it may hold; while it lasts, the space left on the
gateway's file systems is watched.
"""

import os
import resource
import stat
import time
from collections.abc import Callable, Iterator

from core.runner.supervisor.processes import procfs

MOST_FILES = 100_000
"""Files and folders in a private folder; they are counted one by one."""

_MOST_S = 1.0
"""The time that a look may take: the supervisor does nothing else in that time."""
_PAUSE_S = 0.005


class Look:
    """The time of one look. ``lacks`` says what the disk lacks, ``""`` while it lacks nothing."""

    __slots__ = ("_ends", "_lacks", "_next", "lacking")

    def __init__(self, lacks: Callable[[], str]) -> None:
        now = time.monotonic()
        self._lacks = lacks
        self._ends, self._next = now + _MOST_S, now + _PAUSE_S
        self.lacking = ""

    def goes_on(self) -> bool:
        """Return whether there is time to look at one more thing."""
        now = time.monotonic()
        if now >= self._next:
            self.lacking = self.lacking or self._lacks()
            self._next = now + _PAUSE_S
        return now < self._ends and not self.lacking


def held(folder: str, most: int, grown: int, look: Look) -> int:
    """Return the bytes of a folder and of files that were removed from it but are still held.

    It is more than ``most`` if there are too many files. If something is closed to us, or there is
    no time to look at all of it, it counts as all that the file system has ``grown`` by.
    """
    total = files = 0
    seen: set[int] = set()
    for status in _everything(folder):
        if not look.goes_on():
            return max(total, grown)
        if status is None:
            total = max(total, grown)
            continue
        files += 1
        if status.st_ino not in seen:
            seen.add(status.st_ino)
            total += status.st_blocks * 512
        if total > most or files > MOST_FILES:
            return most + 1
    mapped = _mapped(folder, seen, look)
    return max(total, grown) if mapped is None else total + mapped


def _everything(folder: str) -> Iterator[os.stat_result | None]:
    """Yield the status of each file; ``None`` for what cannot be inspected."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - pathlib is outside the import budget
    except OSError:
        return
    yield from _below(folder)
    for _, status in _open_files():
        if status is None or (
            status.st_dev == device and status.st_nlink == 0 and stat.S_ISREG(status.st_mode)
        ):
            yield status


def _open_files() -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield what the processes of the run have open, with its path in /proc.

    The threads of a process have the same files open, because the filter of the sandbox lets none
    have its own; but one that has ended, even the first, shows nothing. A process whose threads all
    show nothing may only be too fast for us, so it yields ``None``.
    """
    for pid in procfs.descendants(os.getpid()):
        tasks = procfs.threads_of(pid)
        for task in tasks:
            shown = list(_entries(f"/proc/{pid}/task/{task}/fd", linked=True))
            if shown:
                yield from shown
                break
        else:
            if len(tasks) > 1:
                yield f"/proc/{pid}", None


def sends(look: Look) -> bool:
    """Return whether a socket of the run holds descriptors that were sent (unix(7), SCM_RIGHTS).

    Also ``True`` if there is no time to look.
    """
    for path, status in _open_files():
        if not look.goes_on():
            return True
        if status is None or not stat.S_ISSOCK(status.st_mode):
            continue
        for line in _lines(path.replace("/fd/", "/fdinfo/")):
            name, _, number = line.partition(b":")
            if name == b"scm_fds" and number.strip() != b"0":
                return True
    return False


def _mapped(folder: str, seen: set[int], look: Look) -> int | None:
    """Return the most bytes that removed files which are only mapped may have (proc(5), ``maps``).

    A file's size cannot be seen there, but is at most the limit of a file's size. ``None`` if there
    was no time to look.
    """
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - as above
    except OSError:
        return 0
    place = f"{os.major(device):02x}:{os.minor(device):02x}".encode()
    found: set[int] = set()
    for pid in procfs.descendants(os.getpid()):
        for line in _maps(pid):
            if not look.goes_on():
                return None
            if line.endswith(b" (deleted)") and (words := line.split(None, 5))[3] == place:
                found.add(int(words[4]))
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return len(found - seen) * (0 if largest == resource.RLIM_INFINITY else largest)


def _maps(pid: int) -> Iterator[bytes]:
    """Yield what a process has mapped, as shown by one of its threads that has not ended."""
    for task in procfs.threads_of(pid):
        shown = False
        for line in _lines(f"/proc/{pid}/task/{task}/maps"):
            shown = True
            yield line
        if shown:
            return


def _lines(path: str) -> Iterator[bytes]:
    """Yield the lines of a process's file, none when it has gone or is closed to us.

    Raises:
        OSError: this process lacks the descriptors or the memory to look.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            for line in file:
                yield line.rstrip(b"\n")
    except OSError as error:
        if error.errno in procfs.LACKING:
            raise


def _below(folder: str) -> Iterator[os.stat_result | None]:
    folders = [folder]
    while folders:
        for path, status in _entries(folders.pop(), linked=False):
            if status is not None and stat.S_ISDIR(status.st_mode):
                folders.append(path)
            yield status


def _entries(folder: str, *, linked: bool) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield what is in a folder; for a link, its target or the link itself.

    A command may change all of it in the meantime: only what disappears is left out.
    """
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                try:
                    yield entry.path, entry.stat(follow_symlinks=linked)
                except (FileNotFoundError, ProcessLookupError):
                    continue
                except OSError:
                    yield entry.path, None
    except (FileNotFoundError, ProcessLookupError):
        return
    except OSError:
        yield folder, None

"""Notice a run that takes too much of the disk.

A run's private folder is on a disk, where nothing bounds a folder, so the run is checked while
it lasts. Two limits hold: what the folder may hold, and what every file system that the gateway
writes to must have left. The second does not depend on who takes the room, or how.

Asking a file system how much it has left is cheap; counting a folder is not, so that is done once
a second, and at once where as much has gone as the run may have.
"""

import os
import resource
import stat
import time
from collections.abc import Iterator

from core.runner.supervisor.processes import procfs
from core.runner.supervisor.protocol import Private

_MIB = 1024 * 1024
_LEFT_BYTES = 256 * _MIB
_LEFT_FILES = 10_000
_SHARE = 5
"""A small file system keeps a fifth of its room for the gateway instead."""

MOST_FILES = 100_000
"""Files and folders in a private folder; they are counted one by one."""

_FASTEST = 8_000_000_000
"""Bytes a second: nobody fills a page cache faster, so no look is needed before."""
_SOONEST_S, _LATEST_S, _COUNT_S = 0.005, 0.1, 1.0
_RESTS = 2
"""The pause between two counts, as a multiple of what the last one took."""

_FULL = "sayso: the private /tmp held more than {} MiB or {} files, so the run was killed\n"
_ENDED = "sayso: {}, so the run was killed\n"


class DiskUse:
    """What one run takes of the disk; nothing is looked at for a run without a private folder."""

    __slots__ = (
        "_calm",
        "_count_at",
        "_gained",
        "_next",
        "_private",
        "_rested_at",
        "_sent",
        "_used",
    )

    def __init__(self) -> None:
        self._private: Private | None = None
        self._calm = self._used = self._gained = 0
        self._sent = False
        self._next = self._count_at = self._rested_at = 0.0

    def begin(self, private: Private | None, now: float) -> None:
        """Look at a new run from now on (monotonic seconds)."""
        self._private = private
        if private is not None:
            self._calm = self._used = _used(private["folder"])
            self._gained = 0
            self._next = now + _pause(shortage(private["spared"])[1], private["bytes"])
            self._count_at = now + _COUNT_S
            self._rested_at = now
            self._sent = False

    def until(self, deadline: float) -> float:
        """Return when to look next, or an earlier deadline (monotonic seconds)."""
        return deadline if self._private is None else min(deadline, self._next)

    def excess(self) -> str:
        """Return why the run has to end, empty while it need not."""
        now = time.monotonic()
        if self._private is None or now < self._next:
            return ""
        lacking, spare = shortage(self._private["spared"])
        if lacking:
            return _ENDED.format(lacking)
        folder, most = self._private["folder"], self._private["bytes"]
        used = _used(folder)
        self._gained += max(0, used - self._used)
        self._used = used
        grown = used - self._calm
        if now >= self._count_at or (grown > most and now >= self._rested_at):
            own = max(_held(folder, most, grown), self._on_the_way(grown))
            if own > most:
                return _FULL.format(most // _MIB, MOST_FILES)
            grown = self._take_for_own(grown, own, now)
        self._calm += min(grown, 0)
        self._next = now + _pause(spare, most - grown)
        return ""

    def _take_for_own(self, grown: int, own: int, since: float) -> int:
        """Put the rest of what the file system has grown by down to others; return what is left."""
        took = time.monotonic() - since
        self._rested_at = since + took + took * _RESTS
        self._count_at = self._rested_at + _COUNT_S
        self._calm += grown - own
        return own

    def _on_the_way(self, grown: int) -> int:
        """Return what descriptors may hold that were sent and not received; nobody can see it.

        All that the file system gained since the last count at which there were none, if there were
        some at two counts in a row: for a moment there often are. What others free meanwhile is not
        set off against it, or a run could hide behind their cleaning up.
        """
        before, self._sent = self._sent, _sends()
        if not self._sent:
            self._gained = 0
        return max(grown, self._gained) if before and self._sent else 0


def _pause(*left: int) -> float:
    """Return how long nobody need look, by the bytes that are left."""
    return min(_LATEST_S, max(_SOONEST_S, min(left) / _FASTEST))


def shortage(folders: list[str]) -> tuple[str, int]:
    """Return which folder's file system has too little left, else ``""``, and the bytes to spare.

    What cannot be asked has nothing to say.
    """
    least = _LEFT_BYTES * _SHARE
    for folder in folders:
        try:
            now = os.statvfs(folder)
        except OSError:
            continue
        floor = min(_LEFT_BYTES, now.f_blocks * now.f_frsize // _SHARE)
        least = min(least, now.f_bavail * now.f_frsize - floor)
        few = now.f_files > 0 and now.f_favail < min(_LEFT_FILES, now.f_files // _SHARE)
        if least < 0 or few:
            what = "too few inodes" if few else f"less than {floor // _MIB} MiB"
            return f"the file system of {folder} has {what} left, and Sayso itself needs them", 0
    return "", least


def _used(folder: str) -> int:
    try:
        now = os.statvfs(folder)
    except OSError:
        return 0
    return (now.f_blocks - now.f_bfree) * now.f_frsize


def _held(folder: str, most: int, grown: int) -> int:
    """Return the bytes of a folder and of files that were removed from it but are still held.

    More than ``most`` where there are too many files. Where something is closed to us it is taken
    to hold all that the file system has ``grown`` by.
    """
    total = files = 0
    seen: set[int] = set()
    for status in _everything(folder):
        if status is None:
            total = max(total, grown)
            continue
        files += 1
        if status.st_ino not in seen:
            seen.add(status.st_ino)
            total += status.st_blocks * 512
        if total > most or files > MOST_FILES:
            return most + 1
    return total + _mapped(folder, seen)


def _everything(folder: str) -> Iterator[os.stat_result | None]:
    """Yield the status of each file; ``None`` for what cannot be looked at."""
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - pathlib is outside the import budget
    except OSError:
        return
    yield from _below(folder)
    for pid in procfs.descendants(os.getpid()):
        for _, status in _entries(f"/proc/{pid}/fd", linked=True):
            if status is None or (
                status.st_dev == device and status.st_nlink == 0 and stat.S_ISREG(status.st_mode)
            ):
                yield status


def _sends() -> bool:
    """Return whether a socket of the run holds descriptors that were sent (unix(7), SCM_RIGHTS)."""
    for pid in procfs.descendants(os.getpid()):
        for path, status in _entries(f"/proc/{pid}/fd", linked=True):
            if status is None or not stat.S_ISSOCK(status.st_mode):
                continue
            for line in _lines(path.replace("/fd/", "/fdinfo/")):
                name, _, number = line.partition(b":")
                if name == b"scm_fds" and number.strip() != b"0":
                    return True
    return False


def _mapped(folder: str, seen: set[int]) -> int:
    """Return the most bytes that removed files may have which are only mapped (proc(5), ``maps``).

    How much a file has cannot be seen there, but no more than the limit of a file's size.
    """
    try:
        device = os.stat(folder).st_dev  # noqa: PTH116 - as above
    except OSError:
        return 0
    place = f"{os.major(device):02x}:{os.minor(device):02x}".encode()
    found: set[int] = set()
    for pid in procfs.descendants(os.getpid()):
        for line in _lines(f"/proc/{pid}/maps"):
            words = line.split(None, 5)
            if line.endswith(b" (deleted)") and words[3] == place:
                found.add(int(words[4]))
    largest = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    return len(found - seen) * (0 if largest == resource.RLIM_INFINITY else largest)


def _lines(path: str) -> list[bytes]:
    """Return the lines of a process's file, none when it has gone or is closed to us.

    Raises:
        OSError: this process lacks the descriptors or the memory to look.
    """
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read().splitlines()
    except OSError as error:
        if error.errno in procfs.LACKING:
            raise
        return []


def _below(folder: str) -> Iterator[os.stat_result | None]:
    folders = [folder]
    while folders:
        for path, status in _entries(folders.pop(), linked=False):
            if status is not None and stat.S_ISDIR(status.st_mode):
                folders.append(path)
            yield status


def _entries(folder: str, *, linked: bool) -> Iterator[tuple[str, os.stat_result | None]]:
    """Yield what is in a folder, of a link where it leads or the link itself.

    A command may change all of it meanwhile: what goes is left out, nothing else is.
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

"""Find out whether a folder shows files that a bind mount (mount(8)) also shows elsewhere.

Paths alone do not say: what is mounted at two places, or is in a folder that is, has two real
paths. So paths are compared as they are within their file systems (proc(5), ``mountinfo``).
"""

import os
import re
import select
import threading
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from core.hosts.sandbox.filesystem.mounts import is_within

_TABLE = "/proc/self/mountinfo"
_DEVICE, _ROOT, _POINT = 2, 3, 4
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, slots=True)
class _Mount:
    """What a mount shows at ``point``: the folder or file ``root`` of the file system."""

    device: str
    root: str
    point: str


@dataclass(frozen=True, slots=True)
class Mounts:
    """The mounts of this process, in the order in which they were made."""

    mounts: tuple[_Mount, ...]

    def shares(self, folder: str, others: Iterable[str]) -> bool:
        """Return whether a folder shows any of the files of other paths; all are real paths."""
        shown = tuple(self._shown(folder))
        return any(
            device == at and (is_within(path, root) or is_within(root, path))
            for at, path in filter(None, map(self._place, others))
            for device, root in shown
        )

    def _shown(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield what is in a folder, by file system: its own, and what is mounted below it."""
        place = self._place(folder)
        if place is not None:
            yield place
        yield from ((one.device, one.root) for one in self.mounts if is_within(one.point, folder))

    def _place(self, path: str) -> tuple[str, str] | None:
        """Return the file system that a path is on, and what it is called there."""
        around = [one for one in self.mounts if is_within(path, one.point)]
        if not around:
            return None
        # Of those at one point, the last one covers the others.
        found = max(enumerate(around), key=lambda one: (len(one[1].point), one[0]))[1]
        below = path[len(found.point.rstrip("/")) :]
        return found.device, f"{found.root.rstrip('/')}{below}" or "/"


class MountTable:
    """This process's table of mounts, read again when the kernel says that it has changed.

    Reading it takes 100 µs, and each run checks it several times.
    """

    def __init__(self) -> None:
        """Read nothing yet: a process that is forked later has its own table."""
        self._watched: int | None = None
        self._changed = select.poll()
        self._known: Mounts | None = None
        self._reading = threading.Lock()

    def now(self) -> Mounts:
        """Return what is mounted.

        Raises:
            OSError: the kernel does not say.
        """
        with self._reading:
            if self._watched is None:
                self._watched = os.open(_TABLE, os.O_RDONLY | os.O_CLOEXEC)
                self._changed.register(self._watched, select.POLLPRI)
            # Each change is reported once; what is read afterwards is not older.
            if self._changed.poll(0) or self._known is None:
                self._known = None
                self._known = _mounts(Path(_TABLE).read_bytes())
            return self._known


def _mounts(table: bytes) -> Mounts:
    lines = table.decode("utf-8", "surrogateescape").splitlines()
    return Mounts(tuple(_mount(line.split(" ")) for line in lines))


_THIS = MountTable()


def mounts_now() -> Mounts:
    """Return what is mounted.

    Raises:
        OSError: the kernel does not say.
    """
    return _THIS.now()


def _mount(words: list[str]) -> _Mount:
    return _Mount(words[_DEVICE], _plain(words[_ROOT]), _plain(words[_POINT]))


def _plain(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 8)), text)

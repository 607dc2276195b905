"""Look through a workspace after a run: no file there may lend its owner's rights to others.

This is the second line of defence after the system call filter. Others may change the folder in the
meantime, so everything goes by descriptors: downwards without following links, and upwards only to
the folder that the walk came from. Files that others own are left alone, because only their owner
could mark them.
"""
# ruff: noqa: PTH101
# Two hundred thousand files are checked, each by a descriptor, which pathlib cannot.

import errno
import os
import stat
import time
from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass, field

from core.hosts.sandbox.filesystem.git_folder import LINKED_MARKS, MARKS, WORK_TREE_MARK

_MARKS = MARKS | LINKED_MARKS | {WORK_TREE_MARK}
_ANY_CASE = {one.casefold(): one for one in _MARKS}
_LONGEST = 4096
"""PATH_MAX: git ignores what it cannot open by a path."""
_MOST_GIT = 10_000
"""Folders of git that are remembered for a workspace."""
_SET_ID = stat.S_ISUID | stat.S_ISGID
_CAPABILITY = "security.capability"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ONLY_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_NOTHING_TO_SEE = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EACCES, errno.EPERM}
"""Why a folder need not be searched: it is gone, or closed to the sandbox's user, too."""
_OPEN_LEVELS = 64
"""Folders of a branch that are held open; those above are found again from below."""
_SLICE = 128
"""Entries between two clock readings."""
_REALTIME_COARSE = 5
"""The clock that the kernel dates changes by (clock_gettime(2)); time.time() may be ahead of it."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment that changes of files can be compared with, even if the clock is set afterwards."""

    wall_ns: int
    elapsed_ns: int

    @classmethod
    def now(cls) -> "Moment":
        """Return this moment."""
        elapsed = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        return cls(time.clock_gettime_ns(_REALTIME_COARSE), elapsed)

    def as_dated(self) -> int:
        """Return the earliest change time (epoch ns) of what has changed since."""
        now = Moment.now()
        return min(self.wall_ns, now.wall_ns - (now.elapsed_ns - self.elapsed_ns))


@dataclass(slots=True)
class _Level:
    """A folder on the way down; ``fd`` is -1 while it is not held open.

    Its path is put together when it is needed: a command can make paths of any length, in any
    number. ``length`` is that of the path. ``is_git``: git would take it for one of its own.
    """

    name: str
    above: "_Level | None"
    fd: int
    identity: tuple[int, int]
    length: int = 0
    folders: list[str] | None = None
    restore: int | None = None
    is_git: bool = False

    @property
    def path(self) -> str:
        """Return the path from the workspace, empty for itself."""
        names, level = [], self
        while level.above is not None:
            names.append(level.name)
            level = level.above
        return "/".join(reversed(names))

    def below(self, name: str, fd: int) -> "_Level":
        """Return the level of a folder in this one, which is open."""
        return _Level(name, self, fd, identity_of(fd), self.length + len(name) + 1)

    def close(self) -> None:
        if self.fd < 0:
            return
        if self.restore is not None:
            os.fchmod(self.fd, self.restore)
        os.close(self.fd)
        self.fd = -1


@dataclass(slots=True)
class Sweep:
    """One walk through a workspace, in steps. ``since_ns``: ``None`` checks folders only.

    ``cleared`` are files that were marked since then and no longer are, ``left`` those that
    could not be changed. ``git_folders`` are all folders that git would take for a repository's or
    a linked work tree's, ``git_files`` the files by which the top of a work tree names one.
    ``complete``: nothing was left out. ``judge`` is called with the path and the descriptor of each
    git folder, after what is in it.
    """

    root: int
    since_ns: int | None
    judge: Callable[[str, int], None] | None = None
    cleared: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    git_folders: dict[str, None] = field(default_factory=dict)
    git_files: dict[str, None] = field(default_factory=dict)
    entries: int = 0
    complete: bool = False
    _missed: bool = False
    _steps: Generator[None, None, None] | None = None
    _owner: int = field(default_factory=os.geteuid)

    def go_on(self, seconds: float) -> bool:
        """Walk for this long; ``True`` when the walk is over."""
        until = time.monotonic() + seconds
        if self._steps is None:
            self._steps = self._walk()
        with suppress(OSError):  # the workspace itself has gone, so the walk is not complete
            for _ in self._steps:
                if time.monotonic() >= until:
                    return False
        return True

    def close(self) -> None:
        """End the walk where it is."""
        if self._steps is not None:
            self._steps.close()

    def _walk(self) -> Generator[None, None, None]:
        levels = [self._top()]
        try:
            while levels:
                level = levels[-1]
                if level.folders is None:
                    yield from self._read(level)
                if level.folders:
                    below = self._enter(level, level.folders.pop())
                    levels += [] if below is None else [below]
                    if len(levels) > _OPEN_LEVELS:
                        levels[-_OPEN_LEVELS - 1].close()
                else:
                    if self.judge is not None and level.is_git:
                        self.judge(level.path, level.fd)
                    if not _leave(levels):
                        return
            self.complete = not self._missed
        finally:
            for level in levels:
                level.close()

    def _read(self, level: _Level) -> Generator[None, None, None]:
        """Check everything in a folder, and note the folders in it."""
        level.folders, seen = [], set()
        try:
            with os.scandir(level.fd) as entries:
                for entry in entries:
                    self.entries += 1
                    if (mark := _mark(entry.name, level.fd)) is not None:
                        seen.add(mark)
                    if entry.is_dir(follow_symlinks=False):
                        level.folders.append(entry.name)
                    elif self.since_ns is not None:
                        self._look(level, entry, self.since_ns)
                    if not self.entries % _SLICE:
                        yield
        except OSError:
            self._missed = True
            return
        self._note_git(level, seen)
        yield

    def _note_git(self, level: _Level, seen: set[str]) -> None:
        """Note what a folder is to git by the marks that were seen in it.

        Those whose path is too long to be used, or that exceed the limit, are not remembered.
        """
        level.is_git = level.length <= _LONGEST and (seen >= MARKS or seen >= LINKED_MARKS)
        if level.is_git and len(self.git_folders) < _MOST_GIT:
            self.git_folders[level.path] = None
        is_tree = WORK_TREE_MARK in seen and WORK_TREE_MARK not in (level.folders or ())
        if is_tree and level.length <= _LONGEST and len(self.git_files) < _MOST_GIT:
            self.git_files[joined(level.path, WORK_TREE_MARK)] = None

    def _look(self, level: _Level, entry: "os.DirEntry[str]", since_ns: int) -> None:
        if not entry.is_file(follow_symlinks=False):
            return
        try:
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == self._owner and status.st_ctime_ns >= since_ns:
                self._inspect(level, entry.name)
        except FileNotFoundError:
            return
        except OSError:
            self._missed = True

    def _inspect(self, level: _Level, name: str) -> None:
        """Clear a file that changed since, if it lends rights."""
        fd = os.open(name, _ONLY_PATH, dir_fd=level.fd)
        try:
            if not _lends(fd):
                return
            with suppress(OSError):
                _clear(fd)
            (self.left if _lends(fd) else self.cleared).append(joined(level.path, name))
        finally:
            os.close(fd)

    def _enter(self, level: _Level, name: str) -> _Level | None:
        """Open a folder below; one whose owner took away the right to read gets it for a while."""
        try:
            return level.below(name, os.open(name, _FOLDER, dir_fd=level.fd))
        except PermissionError:
            return self._below(level, name)
        except OSError as error:
            self._note_missed(error)
            return None

    def _below(self, level: _Level, name: str) -> _Level | None:
        try:
            fd = os.open(name, _ONLY_PATH | os.O_DIRECTORY, dir_fd=level.fd)
            try:
                found, restore = _forced(fd)
            finally:
                os.close(fd)
        except OSError as error:
            self._note_missed(error)
            return None
        below = level.below(name, found)
        below.restore = restore
        return below

    def _note_missed(self, error: OSError) -> None:
        """Note that a folder was skipped, unless it is gone or closed to the sandbox as well."""
        self._missed = self._missed or error.errno not in _NOTHING_TO_SEE

    def _top(self) -> _Level:
        restore = None
        try:
            fd = os.open(".", _FOLDER, dir_fd=self.root)
        except PermissionError:
            fd, restore = _forced(self.root)
        return _Level("", None, fd, identity_of(fd), restore=restore)


def _forced(fd: int) -> tuple[int, int]:
    """Open a folder with the rights that its owner has taken away, and return what they were.

    Raises:
        OSError: another user owns it, so the sandbox could not look into it, either.
    """
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    os.chmod(_by_number(fd), mode | 0o500)
    return os.open(".", _FOLDER, dir_fd=fd), mode


def joined(folder: str, name: str) -> str:
    """Return the relative path of a name in a folder, whose own path may be empty."""
    return f"{folder}/{name}" if folder else name


def _mark(name: str, folder: int) -> str | None:
    """Return which mark of git a name is, ignoring case if the file system does."""
    if name in _MARKS:
        return name
    mark = _ANY_CASE.get(name.casefold())
    if mark is None:
        return None
    with suppress(OSError):
        one, other = (os.stat(at, dir_fd=folder, follow_symlinks=False) for at in (name, mark))
        return mark if os.path.samestat(one, other) else None
    return None


def identity_of(fd: int) -> tuple[int, int]:
    """Return the device and inode of an open file."""
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _leave(levels: list[_Level]) -> bool:
    """Go back up; ``False`` if the folder above is not the one that the walk came from."""
    below = levels.pop()
    try:
        if levels and levels[-1].fd < 0:
            above = os.open("..", _FOLDER, dir_fd=below.fd)
            if identity_of(above) != levels[-1].identity:
                os.close(above)
                return False
            levels[-1].fd = above
    except OSError:
        return False
    finally:
        below.close()
    return True


def _lends(fd: int) -> bool:
    """Return whether a file has bits or capabilities that give those who start it more rights."""
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        return False
    return mode & _SET_ID != 0 or _has_capability(fd)


def _has_capability(fd: int) -> bool:
    try:
        os.getxattr(_by_number(fd), _CAPABILITY)
    except OSError as error:
        if error.errno in {errno.ENODATA, errno.ENOTSUP}:
            return False
        raise
    return True


def _clear(fd: int) -> None:
    mode = stat.S_IMODE(os.fstat(fd).st_mode)
    if mode & _SET_ID:
        os.chmod(_by_number(fd), mode & ~_SET_ID)
    if _has_capability(fd):
        os.removexattr(_by_number(fd), _CAPABILITY)


def _by_number(fd: int) -> str:
    """Return a name for a file that was opened for its path only, which fchmod(2) does not take."""
    return f"/proc/self/fd/{fd}"

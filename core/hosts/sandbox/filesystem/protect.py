"""Keep what is protected in a workspace as it was: read-only inside, and checked afterwards.

A mount point cannot be renamed or removed by a process that sees it mounted, so each folder above a
protected path is bound to itself. What is bound is what was opened, without following links, from
the folder that was opened as the workspace. A path that does not exist has nothing to be bound; it,
and links, are checked when the run is over. All paths are relative to the workspace.
"""

import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field

from core.hosts.sandbox.filesystem.git_folder import LED_BY, is_harmless
from core.hosts.sandbox.filesystem.links import led_to, parts
from core.hosts.sandbox.filesystem.sweep import joined

_CHANGED = "was replaced or changed meanwhile; check it before you use it"
_ONLY_PATH = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_GIT = ".git"
_MOST_HELD = 48
"""Binds of one run; each costs bubblewrap some 50 µs, and a descriptor."""
_MOST_FOLDERS, _DEEPEST = 32, 24
"""Git folders of a workspace, and the folders above one, that are checked before each run."""


@dataclass(frozen=True, slots=True)
class Found:
    """What is at a path: ``link`` is the target of a symbolic link, ``None`` if it is not one."""

    device: int
    inode: int
    changed_ns: int
    is_folder: bool
    link: str | None

    def is_same(self, other: "Found", *, held: bool) -> bool:
        """Return whether this is what was there before.

        If it was ``held``, the run cannot have written to it, only something outside the sandbox.
        """
        if self.link is not None:
            return self.link == other.link
        same = (self.device, self.inode) == (other.device, other.inode)
        return same and (held or self.changed_ns == other.changed_ns)


@dataclass(frozen=True, slots=True)
class Hold:
    """A path to be bound to itself by its descriptor; ``writable``: only to keep its name."""

    path: str
    fd: int
    writable: bool


@dataclass(slots=True)
class Names:
    """What a folder has at some paths now. Every descriptor is closed by ``close``.

    All methods raise OSError if that cannot be determined.
    """

    root: int
    found: dict[str, Found | None] = field(default_factory=dict)
    fds: dict[str, int] = field(default_factory=dict)

    def at(self, path: str) -> Found | None:
        """Return what is at a path, ``None`` if it does not exist or its parent is not a folder."""
        if path not in self.found:
            self.found[path] = self._look(path)
        return self.found[path]

    def folder(self, path: str) -> int:
        """Return the descriptor of what is at a path that was found; the workspace's for ``""``."""
        return self.fds[path] if path else self.root

    def close(self, keep: AbstractSet[str] = frozenset()) -> None:
        """Close everything that was opened, except at some paths."""
        for path in [one for one in self.fds if one not in keep]:
            os.close(self.fds.pop(path))

    def _look(self, path: str) -> Found | None:
        above, _, name = path.rpartition("/")
        folder = self.at(above) if above else None
        if above and (folder is None or not folder.is_folder):
            return None
        fd = _opened(name, self.folder(above))
        if fd < 0:
            return None
        self.fds[path] = fd
        status = os.fstat(fd)
        link = os.readlink("", dir_fd=fd) if stat.S_ISLNK(status.st_mode) else None
        is_folder = stat.S_ISDIR(status.st_mode)
        return Found(status.st_dev, status.st_ino, status.st_ctime_ns, is_folder, link)


def _opened(name: str, folder: int) -> int:
    """Return the descriptor of a name in a folder, -1 if it does not exist or access is denied."""
    with suppress(FileNotFoundError, NotADirectoryError, PermissionError):
        try:
            return os.open(name, _ONLY_PATH, dir_fd=folder)
        except PermissionError:
            _allow(folder)
            return os.open(name, _ONLY_PATH, dir_fd=folder)
    return -1


def _allow(folder: int) -> None:
    """Give the owner of a folder the rights to it that a run may have removed.

    Raises:
        OSError: another user owns it.
    """
    mode = stat.S_IMODE(os.fstat(folder).st_mode)
    os.chmod(f"/proc/self/fd/{folder}", mode | stat.S_IRWXU)  # noqa: PTH101 - by number


@dataclass(frozen=True, slots=True)
class Protection:
    """What is protected: ``names`` as configured. ``of_git`` are those that git folders have."""

    names: tuple[str, ...]

    @property
    def of_git(self) -> tuple[str, ...]:
        """Return what is protected in each git folder, with what could lead git past it."""
        own = [one.removeprefix(f"{_GIT}/") for one in self.names if one.startswith(f"{_GIT}/")]
        return (*own, *LED_BY) if own else ()

    def paths(self, git_folders: Iterable[str]) -> Iterator[str]:
        """Yield all paths that are protected at the top and in these git folders."""
        known = tuple(git_folders)
        tops = dict.fromkeys(("", *(_above(one) for one in known if _is_work_tree(one))))
        for top in tops:
            yield from (joined(top, one) for one in self.names)
            yield from (joined(joined(top, _GIT), one) for one in self.of_git)
        yield from self.in_git_folders(known)

    def in_git_folders(self, folders: Iterable[str]) -> Iterator[str]:
        """Yield the paths that are protected in git folders."""
        for folder in folders:
            yield from (joined(folder, one) for one in self.of_git)


def _is_work_tree(git_folder: str) -> bool:
    return git_folder == _GIT or git_folder.endswith(f"/{_GIT}")


def _above(path: str) -> str:
    return path.rpartition("/")[0]


def look(names: Names, paths: Iterable[str]) -> dict[str, Found | None]:
    """Return what is at all paths, and at those that lead to them."""
    return {part: names.at(part) for path in paths for part in parts(path)}


def holds(names: Names, paths: Iterable[str]) -> list[Hold]:
    """Return what is to be bound so that what is there now stays, folders before what is in them.

    A protected link is not held, because it cannot be mounted on; what it leads to is.
    """
    kept: dict[str, Hold] = {}
    for path in dict.fromkeys(paths):
        for part in parts(path):
            found = names.at(part)
            if found is None or found.link is not None or len(kept) >= _MOST_HELD:
                break
            writable = part != path and found.is_folder
            if part not in kept or kept[part].writable:
                kept[part] = Hold(part, names.folder(part), writable)
    return sorted(kept.values(), key=lambda one: one.path)


def targets(
    workspace: str, names: Names, paths: Iterable[str], protected: Iterable[str]
) -> Iterator[str]:
    """Yield where protected links lead in the workspace, which is a real path."""
    leading = {}
    for path in paths:
        for part in parts(path):
            found = names.at(part)
            if found is None:
                break
            if found.link is not None or (found.is_folder and part == path):
                leading[part] = names.folder(part)
    yield from led_to(workspace, leading, protected)


def cared_for(git_folders: Iterable[str], senior: Iterable[str]) -> tuple[str, ...]:
    """Return the git folders that are held and compared, limited in case a run makes many.

    The ``senior`` ones come first, so that new ones do not take their place; then those nearest to
    the top.
    """
    found = [one for one in git_folders if one.count("/") < _DEEPEST]
    rank = {one: place for place, one in enumerate(senior)}
    found.sort(key=lambda one: (rank.get(one, len(rank)), one.count("/"), one))
    return tuple(found[:_MOST_FOLDERS])


@dataclass(frozen=True, slots=True)
class Undone:
    """What was found at a protected path after a run, and in words what became of it."""

    path: str
    words: str


def undo(
    names: Names,
    paths: Iterable[str],
    before: Mapping[str, Found | None],
    held: frozenset[str],
    git_folders: AbstractSet[str],
) -> Iterator[Undone]:
    """Move away what appeared at protected paths, and yield what was found.

    ``before`` is what was there; a path that is not in it counts as one where nothing was.
    In ``git_folders`` what git itself writes at first may stay.
    """
    done = set()
    for path in paths:
        part = _decisive(names, path)
        now, then = names.at(part), before.get(part)
        if now is None or part in done or _is_same(then, now, held=part in held):
            continue
        done.add(part)
        folder, name = names.folder(_above(part)), part.rpartition("/")[2]
        if then is not None and then.link is None:
            yield Undone(part, _CHANGED)
        elif then is not None:
            yield Undone(part, _put_away(folder, name, then.link))
        elif not (_above(part) in git_folders and is_harmless(folder, name)):
            yield Undone(part, _put_away(folder, name, None))


def changed(folder: int, names: Iterable[str], since_ns: int) -> Iterator[Undone]:
    """Yield what was changed in a folder since a moment (epoch ns); how is not known."""
    for name in names:
        with suppress(FileNotFoundError):
            if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ctime_ns >= since_ns:
                yield Undone(name, _CHANGED)


def _is_same(then: Found | None, now: Found, *, held: bool) -> bool:
    return then is not None and then.is_same(now, held=held)


def _decisive(names: Names, path: str) -> str:
    """Return the part of a path that is not a folder and so ends it, or the path itself."""
    for part in parts(path):
        found = names.at(part)
        if found is not None and not found.is_folder:
            return part
    return path


def _put_away(folder: int, name: str, link: str | None) -> str:
    """Rename what appeared, restore a replaced link, and return in words what was done."""
    new = f"{name}.sayso-{secrets.token_hex(4)}"
    try:
        _rename(folder, name, new)
        if link is not None:
            os.symlink(link, name, dir_fd=folder)
    except OSError as error:
        return f"appeared although it is protected, and cannot be moved: {error.strerror}"
    return f"appeared although it is protected; it is called {new} now"


def _rename(folder: int, name: str, new: str) -> None:
    try:
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    except PermissionError:
        _allow(folder)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)

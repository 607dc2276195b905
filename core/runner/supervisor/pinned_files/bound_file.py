"""Keep a file as it was approved, under all the names by which a command may reach it.

A name is the same whatever the folders above it are called by then, and it must lead nowhere else:
to no folder, through no other link, and to no file that is read in its absence. Leaf modules of the
standard library only; runs in the supervisor.
"""

import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator

from core.files.file_identity import identity
from core.runner.supervisor.pinned_files.file_leases import Leases
from core.runner.supervisor.pinned_files.hashbang import HEAD

LARGEST_COPY = 64 * 1024 * 1024
"""In bytes. A larger file is not kept, so any change to it prevents it from being read."""

COMPLETED = tuple(b".js .json .node .mjs .cjs .mts .cts .ts .tsx .jsx .awk".split())
"""What interpreters add to a script's name if no such file exists: node, tsx, gawk."""

_ACCESS_LIST = "system.posix_acl_access"
_SLASH = ord("/")
_SEALS = fcntl.F_SEAL_WRITE | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL

Key = tuple[int, int, bytes]
"""Device and inode of a folder, and a path from there: the same file even if folders move."""


class Place:
    """A path that a process named: absolute as it reads, and from each folder above it."""

    __slots__ = ("_base", "_given", "_keys", "path")

    def __init__(self, base: str, given: bytes) -> None:
        """Take a path, and the folder in /proc to which it is relative.

        Raises:
            OSError: that cannot be looked up.
        """
        self._base = os.fsencode(base)
        self._given = given.rstrip(b"/")
        absolute = given.startswith(b"/")
        folder = b"/" if absolute else os.readlink(self._base)  # noqa: PTH115 - pathlib is outside the import budget
        # Two slashes at the start would stay two.
        self.path = b"/" + os.path.normpath(os.path.join(folder, given)).lstrip(b"/")  # noqa: PTH118 - as above
        self._keys: list[Key] | None = None

    @property
    def keys(self) -> list[Key]:
        """Return the path from each folder above it, as they are now."""
        if self._keys is None:
            self._keys = list(self._found())
        return self._keys

    def _found(self) -> Iterator[Key]:
        whole = os.path.join(self._base, self._given)  # noqa: PTH118 - as above
        yield from _key(os.path.dirname(whole), last_part(self._given))  # noqa: PTH120 - as above
        yield from _keys_of(self.path)
        if self._given.startswith(b"/"):
            return
        # By the open folder, whatever it and those above it are called by now.
        rest, up = os.path.normpath(self._given), self._base
        while rest.startswith(b"../") or rest == b"..":
            rest, up = rest[3:], up + b"/.."
        parts = os.readlink(self._base).split(b"/")[1:]  # noqa: PTH115 - as above
        for part in [b"", *reversed(parts[: len(parts) - up.count(b"/..")])]:
            if part:
                rest, up = part + b"/" + rest, up + b"/.."
            yield from _key(up, rest)


class Bound:
    """A file as it was approved, and its names; or names at which nothing may appear."""

    __slots__ = (
        "_content",
        "_fd",
        "_keys",
        "_names",
        "_sealed",
        "_status",
        "head",
        "own",
        "read",
        "reported",
    )

    def __init__(self, names: Iterable[str], fd: int = -1) -> None:
        """Take an open file, -1 for none, that has just been compared with its pin.

        Raises:
            OSError: it cannot be read, or not all of it.
        """
        self._names = [os.fsencode(name) for name in names]
        self._keys = {key: name for name in self._names for key in _keys_of(name)}
        self._fd = fd
        self._sealed = -1
        self._content: bytes | None = None
        self.head = b""
        self.own = self.read = self.reported = False
        if fd >= 0:
            self._status = os.fstat(fd)
            self.head = _read(fd, HEAD)
            if self._status.st_size <= LARGEST_COPY:
                self._content = _read(fd, self._status.st_size)

    def has(self, sha256: str) -> bool:
        """Return whether what was kept has this digest; a file too large to be kept is not read."""
        return self._content is None or hashlib.sha256(self._content).hexdigest() == sha256

    @property
    def absent(self) -> bool:
        """Return whether nothing may be there."""
        return self._fd < 0

    @property
    def name(self) -> str:
        """Return the name that it was approved by."""
        return os.fsdecode(self._names[0])

    @property
    def last_parts(self) -> set[bytes]:
        """Return the last part of each name."""
        return set(map(last_part, self._names))

    @property
    def parts(self) -> set[bytes]:
        """Return every part of each name."""
        return {part for name in self._names for part in name.split(b"/")}

    @property
    def places(self) -> list[bytes | Key]:
        """Return its names, also as paths from each folder above them."""
        return [*self._names, *self._keys]

    def settle(self, folder: tuple[int, int], path: bytes) -> None:
        """Record which folder a path was approved as, whatever it is called from now on."""
        for name in self._names:
            if name.startswith(path + b"/"):
                self._keys[(*folder, name[len(path) + 1 :])] = name

    def is_at(self, place: Place) -> bool:
        """Return whether a path reads as one of the names, or is the same from a folder above."""
        return place.path in self._names or any(key in self._keys for key in place.keys)

    def is_above(self, place: Place) -> bool:
        """Return whether a path leads on from one of the names, which were not folders."""
        return any(place.path.startswith(name + b"/") for name in self._names) or any(
            (device, inode, part) in self._keys
            for device, inode, rest in place.keys
            for part in _parts(rest)
        )

    def is_instead(self, place: Place) -> bool:
        """Return whether a path is what is read if a name is gone: that name plus a suffix."""
        if self.absent or self.read:
            return False  # what was read once may itself read such files
        for end in COMPLETED:
            if place.path.endswith(end) and (
                place.path[: -len(end)] in self._names
                or any((*key[:2], key[2][: -len(end)]) in self._keys for key in place.keys)
            ):
                return True
        return False

    def is_there(self) -> bool:
        """Return whether its name leads to it now."""
        try:
            return os.path.samestat(os.stat(self._names[0]), self._status)  # noqa: PTH116 - as above
        except OSError:
            return False

    def is_below(self, place: Place) -> bool:
        """Return whether one of the names is below a folder."""
        return self.leading(place) not in {None, *self._names}

    def leading(self, place: Place) -> bytes | None:
        """Return what a path that leads to one of the names was called, ``None`` for others."""
        for name in self._names:
            if name == place.path or name.startswith(place.path + b"/"):
                return place.path
        for device, inode, rest in place.keys:
            for key, name in self._keys.items():
                if key[:2] == (device, inode) and (key[2] + b"/").startswith(rest + b"/"):
                    return name[: len(name) - len(key[2]) + len(rest)]
        return None

    def led(self, path: bytes) -> bytes | None:
        """Return where a path on the way to a name leads to, ``None`` if it is not a link.

        Only a way to what was approved counts as one.
        """
        real = os.path.realpath(path)
        ends = [name[len(path) :] for name in self._names if (name + b"/").startswith(path + b"/")]
        return real if real != path and any(real + end in self._names for end in ends) else None

    def called(self, folder: tuple[int, int]) -> bytes | None:
        """Return what a folder above was called, ``None`` for others."""
        for (device, inode, rest), name in self._keys.items():
            if (device, inode) == folder:
                return name[: len(name) - len(rest) - 1] or b"/"
        return None

    def open(self, leases: Leases) -> int:
        """Return a fresh descriptor of what was approved, -1 if that content no longer exists.

        That is the file itself if no one can write to it for the next moment, else a copy.
        """
        fd = os.open(f"/proc/self/fd/{self._fd}", os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(fd)
        quiet = self._is_held(status, leases)
        status = os.fstat(fd)  # again, as now no one can write to it
        if not self._is_unchanged(fd, status):
            os.close(fd)
            return -1
        self._status = status
        if quiet:
            return fd
        os.close(fd)
        return self._copy()

    def close(self) -> None:
        """Release the file."""
        for fd in (self._fd, self._sealed):
            if fd >= 0:
                os.close(fd)

    def _is_unchanged(self, fd: int, status: os.stat_result) -> bool:
        """Return whether a file has the content that was kept, or else the same identity.

        Its name may be reused and its mode changed, which does no harm. Its identity stays the same
        if it was changed through a mapping (``others_may_write``).
        """
        if self._content is None:
            return identity(status) == identity(self._status)
        return _read(fd, len(self._content) + 1) == self._content

    def _is_held(self, status: os.stat_result, leases: Leases) -> bool:
        """Return whether no one can write to it for the next moment."""
        if os.geteuid() != 0 and status.st_uid not in {0, os.geteuid()}:
            return False  # its owner may at any time, and no lease can be had
        if _is_shared(self._fd, status):
            return False  # others may when the lease has ended, and a shell reads on then
        return leases.cover(self._fd)

    def _copy(self) -> int:
        """Return a descriptor of a copy that no one can write to, -1 if none was kept."""
        if self._content is None:
            return -1
        if self._sealed < 0:
            self._sealed = os.memfd_create("sayso", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            with os.fdopen(os.dup(self._sealed), "wb") as file:
                file.write(self._content)
            fcntl.fcntl(self._sealed, fcntl.F_ADD_SEALS, _SEALS)
        return os.open(f"/proc/self/fd/{self._sealed}", os.O_RDONLY | os.O_CLOEXEC)


def _is_shared(fd: int, status: os.stat_result) -> bool:
    """Return whether users other than the owner may write to a file; its group does not count."""
    if status.st_mode & stat.S_IWOTH:
        return True
    if not status.st_mode & stat.S_IWGRP:
        return False
    if status.st_gid != os.getegid():
        return True
    try:
        return _ACCESS_LIST in os.listxattr(
            fd
        )  # then the group's bits are the mask of all it names
    except OSError as error:
        return error.errno != errno.ENOTSUP  # a file system without them


def _read(fd: int, size: int) -> bytes:
    """Return the first bytes of a file."""
    content = b""
    while len(content) < size:
        data = os.pread(fd, size - len(content), len(content))
        if not data:
            break
        content += data
    return content


def _parts(path: bytes) -> Iterator[bytes]:
    """Yield the paths that lead to a relative path."""
    for at, letter in enumerate(path):
        if letter == _SLASH:
            yield path[:at]


def around(path: bytes) -> Iterator[bytes]:
    """Yield a path, those that lead to it, and those of which it is a completed form."""
    yield path
    yield from (path[: -len(end)] for end in COMPLETED if path.endswith(end))
    yield from _parts(path)


def _keys_of(path: bytes) -> Iterator[Key]:
    """Yield an absolute path from each folder above it, the nearest first."""
    at = len(path)
    while at > 0:
        at = path.rfind(b"/", 0, at)
        yield from _key(path[:at] or b"/", path[at + 1 :])


def _key(folder: bytes, rest: bytes) -> Iterator[Key]:
    identity = identity_of(folder)
    if identity is not None:
        yield (*identity, rest)


def identity_of(folder: bytes) -> tuple[int, int] | None:
    """Return device and inode of what a path leads to, ``None`` for nothing.

    Raises:
        OSError: no memory is left to check.
    """
    try:
        status = os.stat(folder)  # noqa: PTH116 - as above
    except OSError as error:
        if error.errno == errno.ENOMEM:
            raise
        return None
    return status.st_dev, status.st_ino


def last_part(path: bytes) -> bytes:
    """Return the last part of a path."""
    return path.rstrip(b"/").rpartition(b"/")[2]

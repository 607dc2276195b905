"""Pin files and directories: what a path names right now, down to the content."""

# ruff: noqa: PTH115, PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import errno
import hashlib
import os
import stat
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from core.files.file_identity import FileIdentity, identity, others_may_write
from core.files.lookup import check_looked
from core.model.command import PinnedDirectory, PinnedFile

LARGEST_PIN = 512 * 1024 * 1024
"""Bytes. A larger file is not hashed, so never run: hashing it would stall the gateway."""

CACHED_PINS = 4096

_HEAD = 256
"""Bytes of a file's start that are kept: the kernel reads a ``#!`` line within these."""

_SETTLED_NS = 20_000_000
"""A content hash is kept only once the file's ctime is older than this (2 kernel ticks at 100 Hz).

A write within the same tick leaves ctime as it was, so a younger hash could be stale unseen.
"""

_IDENTIFY = os.O_PATH | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_CHUNK = 1 << 18

_K = TypeVar("_K")
_V = TypeVar("_V")


class HashingLimit(Exception):
    """More bytes are to be hashed than ``hashing_at_most`` gives."""


_left: ContextVar[list[int] | None] = ContextVar("_left", default=None)


@contextmanager
def hashing_at_most(size: int) -> Iterator[None]:
    """Let the block hash at most this many bytes; what is remembered costs nothing.

    Raises:
        HashingLimit: in the block, before the file that would be too much is read.
    """
    given = _left.set([size])
    try:
        yield
    finally:
        _left.reset(given)


@dataclass(frozen=True, slots=True)
class Unpinned:
    """A path that cannot be pinned; ``why`` goes into a sentence after the path."""

    why: str


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """A file's content and mode: SHA-256 hex, first bytes (at most 256), whether we may execute it.

    ``chmod`` moves ctime as a write does, so all three are as fresh as the identity.
    """

    sha256: str
    head: bytes
    executable: bool

    @property
    def elf(self) -> bool:
        """Return whether the kernel loads the file itself, without an interpreter by name."""
        return self.head.startswith(b"\x7fELF")

    @property
    def script(self) -> bool:
        """Return whether an interpreter reads the file if it is started.

        It is that of a `#!` line, or the shell by which execvp(3) starts what the kernel refuses.
        """
        return bool(self.head) and not self.elf


class Fingerprints:
    """Remember content hashes by file identity; bounded, least recently used first out.

    The hash of a file which others may write to is not remembered: its identity proves nothing.
    """

    def __init__(self, bound: int = CACHED_PINS) -> None:
        self._bound = bound
        self._known: OrderedDict[FileIdentity, Fingerprint] = OrderedDict()
        self._scripts: OrderedDict[str, bytes] = OrderedDict()
        self._lock = threading.Lock()

    def known(self, key: FileIdentity) -> Fingerprint | None:
        """Return the remembered fingerprint, without reading the file."""
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def of(self, fd: int, status: os.stat_result) -> Fingerprint:
        """Return the fingerprint of the regular file behind a descriptor of any kind.

        Raises:
            OSError: the file cannot be read, it changed while it was hashed, or the kernel makes
                its content as it is read, as it does in ``/proc``.
            HashingLimit: it is larger than what may still be hashed.
        """
        key = identity(status)
        found = self.known(key)
        if found is None:
            spend(status.st_size)
            found = self._read(fd, key)
        if found.script:
            self._keep(self._scripts, found.sha256, found.head)
        return found

    def script_head(self, sha256: str) -> bytes:
        """Return the first bytes of a recently pinned script, by content; or ``b""``."""
        return self._scripts.get(sha256, b"")

    def _read(self, fd: int, key: FileIdentity) -> Fingerprint:
        made, after = _read_fingerprint(fd, key[2])
        if identity(after) != key:
            raise OSError(errno.EBUSY, "the file changed while it was hashed")
        settled = time.time_ns() - after.st_ctime_ns > _SETTLED_NS
        if settled and not others_may_write(after):
            self._keep(self._known, key, made)
        return made

    def _keep(self, known: OrderedDict[_K, _V], key: _K, value: _V) -> None:
        with self._lock:
            known[key] = value
            known.move_to_end(key)
            while len(known) > self._bound:
                known.popitem(last=False)


FINGERPRINTS = Fingerprints()
"""Shared by planning and verifying, so that a run seldom hashes what its plan just hashed."""


def spend(size: int) -> None:
    """Count bytes towards ``hashing_at_most``: of a file, or in place of other work.

    Raises:
        HashingLimit: there are no more.
    """
    left = _left.get()
    if left is not None:
        left[0] -= size
        if left[0] < 0:
            raise HashingLimit


def _read_fingerprint(fd: int, size: int) -> tuple[Fingerprint, os.stat_result]:
    """Hash through a fresh descriptor of the same inode; the given one may be ``O_PATH``."""
    content = os.open(f"/proc/self/fd/{fd}", _READ)
    try:
        hashed, head, read = hashlib.sha256(), b"", 0
        # `/proc/self/pagemap` has no size and 256 GiB; the end is looked for once.
        while chunk := os.read(content, _CHUNK):
            hashed.update(chunk)
            head, read = head or chunk[:_HEAD], read + len(chunk)
            if read > size:
                raise OSError(errno.EFBIG, "it holds more than its size says")
        executable = os.access(f"/proc/self/fd/{fd}", os.X_OK)
        return Fingerprint(hashed.hexdigest(), head, executable), os.fstat(content)
    finally:
        os.close(content)


def _pin_open(
    fd: int, status: os.stat_result, path: str, realpath: str | None, *, executable: bool
) -> PinnedFile | Unpinned:
    """Pin the file behind a descriptor, to be called ``path``."""
    if not stat.S_ISREG(status.st_mode):
        return Unpinned("is not a regular file")
    if status.st_size > LARGEST_PIN:
        return Unpinned(f"is larger than {LARGEST_PIN} bytes, too large to be pinned")
    if realpath is None or status.st_nlink == 0 or not _utf8(realpath):
        return Unpinned("was removed meanwhile, or its real path is not UTF-8")
    try:
        content = FINGERPRINTS.of(fd, status)
    except OSError as error:
        check_looked(error)
        return Unpinned(f"cannot be read to pin it ({error.strerror})")
    if executable and not content.executable:
        return Unpinned("is not executable")
    return PinnedFile(path, realpath, status.st_dev, status.st_ino, status.st_size, content.sha256)


def pin_file(path: str, *, executable: bool = False) -> PinnedFile | Unpinned:
    """Pin the regular file that a path names, following links.

    The directory part should be real already: then only a last part that is a link costs a
    second look.

    Raises:
        OSError: the lookup failed (``core.files.lookup``).
    """
    fd = -1
    try:
        fd = os.open(path, _IDENTIFY | os.O_NOFOLLOW)
        status = os.fstat(fd)
        realpath: str | None = path
        if stat.S_ISLNK(status.st_mode):
            os.close(fd)
            fd = -1  # should the next open fail, there is nothing left to close
            fd = os.open(path, _IDENTIFY)
            status, realpath = os.fstat(fd), _name_of(fd)
        return _pin_open(fd, status, path, realpath, executable=executable)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            check_looked(error)
        return Unpinned(_reason(error))
    finally:
        if fd >= 0:
            os.close(fd)


def real_parent(path: str) -> str:
    """Return an absolute path with the links in all but its last part resolved."""
    directory, name = os.path.split(path)
    return os.path.join(os.path.realpath(directory), name)


def pin_directory(path: str) -> PinnedDirectory | Unpinned:
    """Pin the directory that a path names, by its real path."""
    try:
        fd = os.open(path, _IDENTIFY | os.O_DIRECTORY)
    except (OSError, ValueError) as error:
        return Unpinned(_reason(error))
    try:
        realpath, status = _name_of(fd), os.fstat(fd)
        if realpath is None or status.st_nlink == 0:
            return Unpinned("was removed meanwhile, or its real path is not UTF-8")
        if not os.access(path, os.X_OK):
            return Unpinned("may not be entered by the gateway's user")
        return PinnedDirectory(realpath, status.st_dev, status.st_ino)
    finally:
        os.close(fd)


def _name_of(fd: int) -> str | None:
    """Return the kernel's own name for an open file: one view, without a walk that can race."""
    name = os.readlink(f"/proc/self/fd/{fd}")
    return name if _utf8(name) else None


def _utf8(name: str) -> bool:
    """Return whether a name can be stored and shown: a file system's may be any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError):
        return "does not exist"
    if isinstance(error, OSError):
        return f"cannot be opened ({error.strerror})"
    return "is not a valid path"

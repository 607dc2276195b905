"""Lock a SQLite file: private, on a local disk, one gateway at a time."""

import fcntl
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Final

from core.errors import AnotherGateway, StoreError

_MAGIC: Final = b"SQLite format 3\0"
_NETWORKED: Final = frozenset(
    ("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "fuse.sshfs", "fuse.glusterfs", "ceph")
)
_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_PRAGMAS: Final = (
    "PRAGMA journal_mode = WAL",
    "PRAGMA synchronous = FULL",  # NORMAL may roll back committed decisions at a power loss
    "PRAGMA busy_timeout = 5000",
    "PRAGMA journal_size_limit = 67108864",
    "PRAGMA cache_size = -4096",
    "PRAGMA secure_delete = ON",  # what was replaced is not left in free pages
)


def hold(path: Path) -> int:
    """Lock ``<path>.lock`` for this process; return its file descriptor.

    Raises:
        AnotherGateway: a running gateway holds it.
        StoreError: the folder cannot be used.
    """
    lock = path.with_name(path.name + ".lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        fd = os.open(lock, _LOCK, 0o600)
    except OSError as error:
        if lock.is_symlink():
            raise StoreError(f"{lock} is a symbolic link, so it is not used. Remove it.") from None
        raise StoreError(
            f"The database's folder {path.parent} cannot be used: {error.strerror}. "
            "Fix its permissions, or set store.url."
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        pid = os.pread(fd, 32, 0).decode(errors="replace").strip() or "unknown"
        os.close(fd)
        raise AnotherGateway(
            f"{path} is held by another gateway (process {pid}). Stop that one, or set store.url "
            "to postgresql:// to run several."
        ) from error
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def check(path: Path) -> None:
    """Make the file private and check that it is SQLite's and on a local disk.

    Raises:
        StoreError: it is not a SQLite database, cannot be opened, or is on a network.
    """
    kind = _filesystem(path.parent)
    if kind in _NETWORKED:
        raise StoreError(
            f"{path} is on a network file system ({kind}), where SQLite's locks do not hold. "
            "Use a local disk, or postgresql://."
        )
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.fchmod(fd, 0o600)
            head = os.pread(fd, len(_MAGIC), 0)
        finally:
            os.close(fd)
    except OSError as error:
        raise StoreError(
            f"The database {path} cannot be opened: {error.strerror}. Fix its permissions."
        ) from error
    if head and head != _MAGIC:
        raise StoreError(
            f"{path} is not a SQLite database; its header is damaged. Restore a backup, or move "
            "the file away to start empty (pending approvals are then lost)."
        )


def connect(path: Path, clock: Callable[[], int], *, read_only: bool) -> sqlite3.Connection:
    """Open one connection with the store's settings and its clock as ``sayso_now()``."""
    raw = sqlite3.connect(
        path, isolation_level=None, check_same_thread=False, cached_statements=256
    )
    for pragma in _PRAGMAS:
        raw.execute(pragma)
    raw.create_function("sayso_now", 0, clock)
    if read_only:
        raw.execute("PRAGMA query_only = ON")
    return raw


def _filesystem(folder: Path) -> str:
    """Return the type of the file system that a folder is on, from the kernel's mount table."""
    device = folder.stat().st_dev
    wanted = f"{os.major(device)}:{os.minor(device)}"
    with Path("/proc/self/mountinfo").open(encoding="utf-8", errors="replace") as mounts:
        for line in mounts:
            fields, _, rest = line.partition(" - ")
            if fields.split()[2] == wanted:
                return rest.split()[0]
    return "unknown"

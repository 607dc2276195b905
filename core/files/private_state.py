"""Read and replace small files that only their owner may touch.

The reader opens first and asks afterwards, on the descriptor: a path that is checked and then
opened can be another file by then.
"""

import contextlib
import fcntl
import logging
import os
import secrets
import stat
import time
from collections.abc import Iterator

from core.errors import ApprovalsFileError, StateError

_LOG = logging.getLogger(__name__)
PRIVATE_MODE = 0o600
LARGEST = 64 << 20
"""Bytes that a file may have; 100,000 allowlist entries take about 13 MiB."""
_SETTLED_NS = 50_000_000
_LOCK_WAIT_S = 10.0
_LOCK_POLL_S = 0.005
_READ_TRIES = 5

Identity = tuple[int, int, int, int, int]
"""Device, inode, size in bytes, mtime and ctime in ns: equal means that nothing was written."""


def identity(status: os.stat_result) -> Identity:
    """Return what changes when a file is written, replaced, or has its mode changed."""
    return (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def is_settled(status: os.stat_result) -> bool:
    """Return whether a file's identity alone proves that it is unchanged.

    A file written a moment ago may be written again within one tick of the kernel's clock, with
    the same size and times (git's "racy" index entries): its content must be compared as well.
    """
    return time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) > _SETTLED_NS


def _check(path: str, status: os.stat_result) -> None:
    """Refuse a file that somebody else could have written or could read.

    Raises:
        ApprovalsFileError: not a regular file, another's, too open, or above ``LARGEST``.
    """
    if not stat.S_ISREG(status.st_mode):
        raise ApprovalsFileError(f"{path} is not a regular file. Replace it with one.")
    if status.st_uid != os.getuid():
        raise ApprovalsFileError(
            f"{path} belongs to uid {status.st_uid}, not to uid {os.getuid()} that runs Sayso. "
            f"If its content is yours, run: chown {os.getuid()} '{path}'"
        )
    if stat.S_IMODE(status.st_mode) & ~PRIVATE_MODE:
        raise ApprovalsFileError(
            f"{path} has mode {stat.S_IMODE(status.st_mode):04o}: others may read or write it. "
            f"Review it, then run: chmod 600 '{path}'"
        )
    if status.st_size > LARGEST:
        raise ApprovalsFileError(f"{path} is larger than {LARGEST} bytes. Remove entries.")


def _open_private(path: str) -> int:
    # O_NONBLOCK: opening a FIFO put in the file's place must not hang.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        if os.path.islink(path):  # noqa: PTH114  # the error text only; nothing is decided by it
            raise ApprovalsFileError(
                f"{path} is a symbolic link. Replace it with a regular file."
            ) from error
        raise ApprovalsFileError(f"{path} cannot be opened: {error.strerror}.") from error


def read_private(path: str) -> tuple[bytes, os.stat_result]:
    """Return a private file's bytes and the status that belongs to just these bytes.

    Raises:
        FileNotFoundError: there is none.
        ApprovalsFileError: it is unsafe, cannot be read, or does not stop changing.
    """
    descriptor = _open_private(path)
    try:
        for _ in range(_READ_TRIES):
            before = os.fstat(descriptor)
            _check(path, before)
            data = os.pread(descriptor, before.st_size + 1, 0)
            after = os.fstat(descriptor)
            if identity(before) == identity(after) and len(data) == after.st_size:
                return data, after
    except OSError as error:
        raise ApprovalsFileError(f"{path} cannot be read: {error.strerror}.") from error
    finally:
        os.close(descriptor)
    raise ApprovalsFileError(f"{path} is being modified. Wait and retry.")


def replace_private(path: str, data: bytes, *, durable: bool = True) -> None:
    """Put ``data`` in the place of ``path`` at once, with mode 0600.

    ``durable`` waits until file and name are on disk; without it a power cut may bring back the
    old content, never a mixture.

    Raises:
        OSError: nothing was replaced.
    """
    folder, name = os.path.split(path)
    draft = os.path.join(folder, f".{name}.{secrets.token_hex(6)}")  # noqa: PTH118  # plain strings on a busy path
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(draft, flags, PRIVATE_MODE), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        os.rename(draft, path)  # noqa: PTH104  # plain strings on a busy path
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(draft)  # noqa: PTH108  # plain strings on a busy path
        raise
    if durable:
        _sync_folder(folder)


def keep_copy(path: str, data: bytes) -> None:
    """Make ``path`` hold ``data``; failing to is logged and no reason to deny."""
    try:
        with contextlib.suppress(FileNotFoundError, ApprovalsFileError):
            if read_private(path)[0] == data:
                return
        replace_private(path, data)
    except OSError as error:
        _LOG.warning("cannot write %s: %s", path, error.strerror)


def back_up(path: str, backup: str) -> None:
    """Give a file a second name; the first stays until its successor takes its place.

    Raises:
        StateError: it could not be given.
    """
    with writing(path), contextlib.suppress(FileNotFoundError):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(backup)  # noqa: PTH108  # plain strings as above
        os.link(path, backup, follow_symlinks=False)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder or ".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def locked(path: str) -> Iterator[None]:
    """Hold the lock file ``path`` against other threads and processes.

    The lock file is never removed: unlinking one that another process waits for would let two in.

    Raises:
        StateError: it cannot be made, or another process has held it for ten seconds.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, PRIVATE_MODE)
    except OSError as error:
        raise StateError(
            f"{path} cannot be created: {error.strerror}. Check the folder's permissions."
        ) from error
    try:
        _wait_for(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: str) -> None:
    deadline = time.monotonic() + _LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StateError(
                    f"{path} is locked by another process. Nothing was changed; to find it, run: "
                    f"fuser '{path}'"
                ) from None
            time.sleep(_LOCK_POLL_S)
        else:
            return


@contextlib.contextmanager
def writing(path: str) -> Iterator[None]:
    """Turn the system's refusal to write into a sentence for a person.

    Raises:
        StateError: what was to be written was not.
    """
    try:
        yield
    except OSError as error:
        raise StateError(
            f"{path} could not be written: {error.strerror}. It was not changed; free disk space "
            "or fix its folder's permissions, then retry."
        ) from error

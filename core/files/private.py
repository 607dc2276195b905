"""Read, make and replace small files that only their owner may touch: keys, contacts, state.

The reader opens first and checks afterwards, on the descriptor: a path that is checked and then
opened can be another file by then.
"""

import contextlib
import logging
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from core.errors import StateError
from core.files.file_identity import identity
from core.files.unreadable import unreadable

_log = logging.getLogger(__name__)
_MODE = 0o600
_LARGEST = 64 << 20
"""Bytes that a file may have; 100,000 allowlist entries take about 13 MiB."""
_READ_TRIES = 5
# O_NONBLOCK: opening a FIFO put in the file's place must not hang.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_APPEND = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_TOUCH = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_private(path: Path) -> bytes:
    """Return a private file's bytes.

    Raises:
        FileNotFoundError: there is none.
        StateError: it is unsafe, larger than 64 MiB, or does not stop changing.
    """
    return read_with_status(path)[0]


def read_with_status(path: Path) -> tuple[bytes, os.stat_result]:
    """Return a private file's bytes and the status that belongs to just these bytes.

    Raises:
        FileNotFoundError: there is none.
        StateError: it is unsafe, larger than 64 MiB, or does not stop changing.
    """
    descriptor = _open(path)
    try:
        for _ in range(_READ_TRIES):
            before = os.fstat(descriptor)
            _check(path, before)
            data = os.pread(descriptor, before.st_size + 1, 0)
            after = os.fstat(descriptor)
            if identity(before) == identity(after) and len(data) == after.st_size:
                return data, after
    except OSError as error:
        raise StateError(unreadable(path, error)) from error
    finally:
        os.close(descriptor)
    raise StateError(f"{path} is being modified. Wait and retry.")


def _open(path: Path) -> int:
    try:
        return os.open(path, _READ)
    except FileNotFoundError:
        raise
    except OSError as error:
        if path.is_symlink():  # the error text only; nothing is decided by it
            raise StateError(
                f"{path} is a symbolic link. Replace it with a regular file."
            ) from error
        raise StateError(
            f"{path} cannot be opened: {error.strerror}. Check its permissions."
        ) from error


def _check(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise StateError(f"{path} is not a regular file. Replace it with one.")
    if status.st_uid != os.getuid():
        raise StateError(
            f"{path} belongs to uid {status.st_uid}, not to uid {os.getuid()} that runs Sayso. "
            f"If its content is yours, run: chown {os.getuid()} '{path}'"
        )
    if stat.S_IMODE(status.st_mode) & ~_MODE:
        raise StateError(
            f"{path} has mode {stat.S_IMODE(status.st_mode):04o}: others may read or write it. "
            f"Review it, then run: chmod 600 '{path}'"
        )
    if status.st_size > _LARGEST:
        raise StateError(f"{path} is larger than {_LARGEST} bytes. Remove entries.")


def create_private(path: Path, data: bytes) -> bool:
    """Make a file that does not exist yet, mode 0600, durably; ``False`` if it does.

    It appears whole or not at all, so two programs that start at once agree on one content.

    Raises:
        StateError: it cannot be made.
    """
    with writing(path), _draft(path, data) as draft:
        try:
            os.link(draft, path)
        except FileExistsError:
            return False
    _sync(path.parent)
    return True


def replace_private(
    path: Path, data: bytes, *, durable: bool = True, still: Callable[[], bool] = lambda: True
) -> bool:
    """Replace a file by ``data`` at once, with mode 0600.

    ``still`` is asked when all is on disk but the name, because writing takes time in which
    somebody else may replace the file; where it says no, nothing is replaced and the result is
    ``False``.

    ``durable`` waits until file and name are on disk; without it a power cut may bring back the
    old content, never a mixture.

    Raises:
        StateError: nothing was replaced.
    """
    with writing(path), _draft(path, data, durable=durable) as draft:
        if not still():
            return False
        draft.rename(path)
    if durable:
        _sync(path.parent)
    return True


def append_private(path: Path, data: bytes) -> bool:
    """Append to a private file; ``False`` if there is none. A power cut may undo it.

    Where it fails, part of ``data`` may be in the file: put another in its place.

    Raises:
        StateError: not all of it was written.
    """
    with writing(path):
        try:
            descriptor = os.open(path, _APPEND)
        except FileNotFoundError:
            return False
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    return True


def sync_private(path: Path) -> None:
    """Wait until what was appended to a file is on disk.

    Raises:
        StateError: it may not be.
    """
    with writing(path):
        descriptor = os.open(path, _APPEND)
        try:
            os.fdatasync(descriptor)
        finally:
            os.close(descriptor)


def touch_private(path: Path) -> None:
    """Make an empty file where there is none; a power cut may undo it.

    Raises:
        StateError: it cannot be made.
    """
    with writing(path):
        os.close(os.open(path, _TOUCH, _MODE))


@contextlib.contextmanager
def _draft(path: Path, data: bytes, *, durable: bool = True) -> Iterator[Path]:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(draft, _NEW, _MODE), "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        yield draft
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def keep_copy(path: Path, data: bytes) -> None:
    """Make a file hold ``data``; a failure is logged and is no reason to deny."""
    try:
        with contextlib.suppress(FileNotFoundError, StateError):
            if read_private(path) == data:
                return
        replace_private(path, data)
    except StateError as error:
        _log.warning("%s", error)


def back_up(path: Path, backup: Path) -> None:
    """Give a file a second name; the first stays until its successor takes its place.

    Raises:
        StateError: it could not be given.
    """
    with writing(path), contextlib.suppress(FileNotFoundError):
        backup.unlink(missing_ok=True)
        os.link(path, backup, follow_symlinks=False)


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
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


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

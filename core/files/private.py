"""Read and write small files that only their owner may touch: keys and contacts.

The reader opens first and asks afterwards, on the descriptor. Not ``core.files.private_state``:
the machines' wing never imports the people's.
"""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from core.errors import StateError

_MODE = 0o600
_LARGEST = 1 << 20
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def read_private(path: Path) -> bytes:
    """Return a private file's bytes.

    Raises:
        FileNotFoundError: there is none.
        StateError: it is a link, another user's, open to others, or larger than 1 MiB.
    """
    try:
        # O_NONBLOCK: opening a FIFO put in the file's place must not hang.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise StateError(
            f"{path} cannot be opened: {error.strerror}. Check its permissions."
        ) from error
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor))
        return file.read(_LARGEST)


def _check(path: Path, status: os.stat_result) -> None:
    mode = stat.S_IMODE(status.st_mode)
    if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST:
        raise StateError(f"{path} is not a regular file of at most {_LARGEST} bytes. Move it away.")
    if status.st_uid != os.getuid() or mode & ~_MODE:
        raise StateError(
            f"{path} must belong to uid {os.getuid()} with mode 0600; it has uid {status.st_uid} "
            f"and mode {mode:04o}. If its content is yours, run: chmod 600 '{path}'"
        )


def create_private(path: Path, data: bytes) -> bool:
    """Make a file that is not there yet, mode 0600, durably; ``False`` if there is one.

    It appears whole or not at all, so two programs that start at once agree on one content.

    Raises:
        StateError: it cannot be made.
    """
    draft = _draft(path, data)
    try:
        os.link(draft, path)
    except FileExistsError:
        return False
    except OSError as error:
        raise StateError(
            f"{path} cannot be created: {error.strerror}. Check the folder's permissions."
        ) from error
    finally:
        draft.unlink()
    _sync(path.parent)
    return True


def replace_private(path: Path, data: bytes) -> None:
    """Put ``data`` in the place of a file at once, mode 0600, durably.

    Raises:
        StateError: nothing was replaced.
    """
    draft = _draft(path, data)
    try:
        draft.replace(path)
    except OSError as error:
        draft.unlink()
        raise StateError(
            f"{path} cannot be written: {error.strerror}. It was not changed."
        ) from error
    _sync(path.parent)


def _draft(path: Path, data: bytes) -> Path:
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with os.fdopen(os.open(draft, _NEW, _MODE), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
        raise StateError(
            f"{path} cannot be written: {error.strerror}. Check the folder's permissions."
        ) from error
    return draft


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

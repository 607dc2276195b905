"""Hold a lock file against other threads and processes."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from core.errors import StateError

_MODE = 0o600
_WAIT_S = 10.0
_POLL_S = 0.005


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` against other threads and processes.

    The lock file is never removed: unlinking one that another process waits for would let two in.

    Raises:
        StateError: it cannot be made, or another process has held it for ten seconds.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, _MODE)
    except OSError as error:
        raise StateError(
            f"{path} cannot be created: {error.strerror}. Check the folder's permissions."
        ) from error
    try:
        _wait_for(descriptor, path)
        yield
    finally:
        os.close(descriptor)


def _wait_for(descriptor: int, path: Path) -> None:
    deadline = time.monotonic() + _WAIT_S
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StateError(
                    f"{path} is locked by another process. Nothing was changed; to find it, run: "
                    f"fuser '{path}'"
                ) from None
            time.sleep(_POLL_S)
        else:
            return

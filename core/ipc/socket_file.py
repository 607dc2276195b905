"""Create a Unix socket in the file system: a private place, one live owner, none left over.

A lock file next to the socket says whether its owner is alive; a socket that no owner answers is
left over and is replaced.
"""

import fcntl
import os
import socket
import stat
from pathlib import Path

from core.errors import AnotherGateway, StateError

LONGEST_PATH = 107
"""Bytes of a socket's path (unix(7): sun_path has 108 with its NUL)."""
_GATEWAY = "A gateway"


def check_path(path: Path, *, shared: bool = False) -> None:
    """Refuse a path that is too long, or in a folder where others could replace the socket.

    Raises:
        StateError: says what to change.
    """
    if len(os.fsencode(path)) > LONGEST_PATH:
        raise StateError(
            f"{path} has {len(os.fsencode(path))} bytes; a socket's path has {LONGEST_PATH} at "
            f"most. Set SAYSO_HOME to a shorter path."
        )
    if shared:
        check_shared_folder(path.parent)
    else:
        _check_folder(path.parent)


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise StateError(f"{folder} cannot be made: {error.strerror}.") from error
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o077:
        raise StateError(
            f"{folder} must belong to uid {os.getuid()} with mode 0700; it has uid "
            f"{status.st_uid} and mode {stat.S_IMODE(status.st_mode):04o}. "
            f"If it is yours, run: chmod 700 '{folder}'"
        )


def check_shared_folder(folder: Path) -> None:
    """Refuse a folder in which others could replace this socket with their own.

    Raises:
        StateError: it is missing and cannot be created, or others may write to it.
    """
    how = f"Run: sudo install -d -o {os.getuid()} -m 755 '{folder}'"
    try:
        folder.mkdir(mode=0o755, exist_ok=True)
        status = folder.stat()
    except OSError as error:
        raise StateError(f"{folder} cannot be created: {error.strerror}. {how}") from error
    if status.st_uid != os.getuid() or stat.S_IMODE(status.st_mode) & 0o022:
        raise StateError(
            f"{folder} must belong to uid {os.getuid()} and be writable by nobody else; it has uid "
            f"{status.st_uid} and mode {stat.S_IMODE(status.st_mode):04o}. {how}"
        )


def locked(path: Path, owner: str = _GATEWAY) -> int:
    """Return the descriptor of the lock next to a socket, which says that its owner is alive.

    Raises:
        AnotherGateway: a live process holds it.
        StateError: the lock file cannot be created.
    """
    name = path.with_name(path.name + ".lock")
    try:
        lock = os.open(name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StateError(f"{name} cannot be made: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise _another(path, owner) from None
    return lock


def is_owned(path: Path) -> bool:
    """Return whether a live process holds the lock next to a socket, reachable or not.

    Raises:
        StateError: the lock file exists and cannot be inspected.
    """
    name = path.with_name(path.name + ".lock")
    try:
        lock = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StateError(f"{name} cannot be read: {error.strerror}.") from error
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def _another(path: Path, owner: str) -> AnotherGateway:
    return AnotherGateway(f"{owner} is already listening on {path}. Stop it, or use another home.")


def bound(path: Path, mode: int, owner: str = _GATEWAY) -> socket.socket:
    """Return a bound socket of this mode; until it is set, its folder or its own mode protects it.

    ``owner`` is who listens on such a path, for the message.

    Raises:
        AnotherGateway: a live process listens there.
        StateError: the path exists and is not a socket.
        OSError: it cannot be created.
    """
    if _answers(path):
        raise _another(path, owner)
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        made.bind(os.fspath(path))
        path.chmod(mode)
    except BaseException:
        made.close()
        raise
    return made


def _answers(path: Path) -> bool:
    """Return whether a process listens on ``path``.

    Raises:
        StateError: the path exists and is not a socket; it is not removed.
    """
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    if not stat.S_ISSOCK(status.st_mode):
        raise StateError(f"{path} is not a socket. Move it away.")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(1.0)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except (BlockingIOError, TimeoutError):
            return True  # its backlog is full, so it is alive
    return True

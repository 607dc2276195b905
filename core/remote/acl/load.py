"""Load the access list from its file (S4).

A file that is missing at the default path turns remote exec off; an unsafe one stops the start.
"""

import os
import stat
from pathlib import Path

from core.errors import ConfigError
from core.planning.paths.writable_by_others import changeable_on_the_way
from core.remote.acl.acl import Acl

DEFAULT_PATH = Path("/etc/sayso/exec-acl.toml")
_LARGEST_FILE = 1 << 20


def load_acl(explicit: Path | None = None, default: Path = DEFAULT_PATH) -> Acl | None:
    """Return the list, ``None`` if none is at the default path, which turns remote exec off.

    Raises:
        ConfigError: the explicit file is missing; or the file is unsafe or malformed.
    """
    if explicit is not None:
        return load_explicit(explicit)
    return load_explicit(default) if os.path.lexists(default) else None


def load_explicit(path: Path) -> Acl:
    """Return the list in a file that must exist.

    Raises:
        ConfigError: it is missing, unsafe or malformed; the message names the line.
    """
    try:
        text = _read(path)
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist. Create it, or choose another file.") from None
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{path} cannot be read: {why}. Fix it, or move it away.") from error
    return Acl.parse(text, str(path))


def _opened(path: str, flags: int) -> int:
    """Open a file without blocking, even a pipe that no process writes to."""
    return os.open(path, flags | os.O_NONBLOCK | os.O_CLOEXEC)


def _check_folders(path: Path) -> None:
    """Refuse a file that other users could replace, at its name or where any link leads."""
    changeable = changeable_on_the_way(str(path.absolute()))
    if changeable:
        raise ConfigError(
            f"{path} cannot be trusted: other users can write to {changeable}, or own it, and "
            f"could replace the list. Run: chmod go-w '{changeable}'"
        )


def _read(path: Path) -> str:
    with open(path, "rb", opener=_opened) as file:
        status = os.fstat(file.fileno())
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_FILE:
            raise ConfigError(f"{path} is not a regular file of at most {_LARGEST_FILE} bytes.")
        if status.st_uid not in {os.geteuid(), 0} or mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise ConfigError(
                f"{path} has uid {status.st_uid} and mode {mode:04o}: others could change who may "
                f"run what. It must belong to you or root: chmod go-w '{path}'"
            )
        _check_folders(path)
        return file.read().decode()

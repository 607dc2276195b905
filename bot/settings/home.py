"""Find and check $SAYSO_HOME, the folder that holds all state."""

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from core.errors import StateError
from core.files.unreadable import unreadable
from core.planning.paths.writable_by_others import changeable_on_the_way

CONFIG_NAME = "config.json5"
_MODE = 0o700
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_ENTER = stat.S_IXGRP | stat.S_IXOTH


def home_folder(home: Path | None, environ: Mapping[str, str]) -> Path:
    """Return the absolute home: the given one, else $SAYSO_HOME, else ~/.sayso."""
    if home is not None:
        return home.absolute()
    return expand(environ.get("SAYSO_HOME") or "~/.sayso", environ).absolute()


def expand(name: str, environ: Mapping[str, str]) -> Path:
    """Return a path with a leading ``~`` read as the user's own folder."""
    if name != "~" and not name.startswith("~/"):
        return Path(name)
    user = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    return user / name[2:]


def ensure_home(home: Path) -> None:
    """Create the home with mode 0700, or check the existing one.

    Raises:
        StateError: it cannot be created, is not a folder, or others than this user may write to it.
    """
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=_MODE)
    except FileExistsError:
        check_home(home)
    except OSError as error:
        raise StateError(
            f"{home} cannot be created: {error.strerror}. Set SAYSO_HOME to a folder that you own."
        ) from error


def check_home(home: Path) -> None:
    """Refuse a home in which somebody else could replace the files; a missing one is fine.

    Raises:
        StateError: it is not a folder, belongs to somebody else, or others may write to it.
    """
    try:
        status = home.stat()
    except FileNotFoundError:
        _refuse_dangling(home, "folder")
        return
    except OSError as error:
        raise StateError(f"{home} cannot be used: {error.strerror}.") from error
    if not stat.S_ISDIR(status.st_mode):
        raise StateError(f"{home} is not a folder. Set SAYSO_HOME to a folder.")
    _refuse_others(home, status)


def read_config(path: Path, limit: int) -> bytes | None:
    """Return the configuration's bytes, at most ``limit`` plus one, or ``None`` if there is none.

    Raises:
        StateError: it is unreadable, not a file, or somebody else could rewrite it.
    """
    try:
        content, status = read_file(path, limit)
    except FileNotFoundError:
        _refuse_dangling(path, "file")
        return None
    except OSError as error:
        raise StateError(unreadable(path, error)) from error
    check_reachable(path, status)
    return content


def _refuse_dangling(path: Path, kind: str) -> None:
    """Refuse a link to nothing: what it led to is away, so the defaults are not what was meant."""
    if path.is_symlink():
        raise StateError(
            f"{path} is a link to {path.readlink()}, which does not exist. Bring that {kind} back, "
            "or remove the link to run with the defaults."
        )


def check_reachable(path: Path, status: os.stat_result) -> None:
    """Refuse a file that somebody else could rewrite or replace, even if reached through a link.

    Under umask 002 editors leave files group-writable; nobody else can reach them in a 0700 folder.

    Raises:
        StateError: others can reach it, and own it, or may write to it or its folders.
    """
    if not path.resolve().parent.stat().st_mode & _OTHERS_ENTER:
        return
    _refuse_others(path, status)
    changeable = changeable_on_the_way(str(path.absolute()))
    if changeable:
        raise StateError(
            f"{path} can be replaced by others, who may write to {changeable} or own it, and could "
            f"then decide what runs. Run: chmod go-w '{changeable}'"
        )


def read_file(path: Path, limit: int) -> tuple[bytes, os.stat_result]:
    """Return up to ``limit`` plus one bytes of a regular file, and that file's status.

    Raises:
        OSError: it cannot be read, or is a folder, pipe or device.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer forever.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(0, "it is not a regular file")
        return file.read(limit + 1), status


def _refuse_others(path: Path, status: os.stat_result) -> None:
    if status.st_uid not in {os.geteuid(), 0}:
        raise StateError(f"{path} belongs to uid {status.st_uid}, not to you. chown it.")
    if status.st_mode & _OTHERS_WRITE:
        mode = stat.S_IMODE(status.st_mode)
        right = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise StateError(
            f"{path} can be written by others (mode {mode:o}), who could then decide what runs."
            f" Run: chmod {right} {path}"
        )

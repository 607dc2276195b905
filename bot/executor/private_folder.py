"""Create the folder that is a sandboxed run's /tmp, in the user's home, and remove it."""

import os
import pwd
import re
import stat

from core.isolation import wire

_NAME = re.compile(r"[A-Za-z0-9]{1,64}")


def make(run_id: str, holds: str) -> str:
    """Create a run's folder, with the folder ``holds`` in it; return its path.

    Raises:
        OSError: it cannot be created, or its parent folder is not only this user's.
        ValueError: a name leads elsewhere.
    """
    path = _path(run_id)
    parts = holds.split("/") if holds else []
    if any(part in {"", ".", ".."} for part in parts):
        raise ValueError(f"{holds!r} is not a relative path")
    base = os.path.dirname(path)  # noqa: PTH120 - outside the import budget, as all below
    try:
        os.mkdir(base, 0o700)  # noqa: PTH102
    except FileExistsError:
        found = os.lstat(base)
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise
        os.chmod(base, 0o700)  # noqa: PTH101
    os.mkdir(path, 0o700)  # noqa: PTH102
    if parts:
        os.makedirs(f"{path}/{holds}", 0o700)  # noqa: PTH103
    return path


def remove(run_id: str) -> None:
    """Remove a run's folder, whatever is in it."""
    try:
        path = _path(run_id)
    except (KeyError, ValueError):
        return
    if os.path.lexists(path):
        from core.files.removal import remove_tree  # noqa: PLC0415 - few runs need it

        remove_tree(path)


def _path(run_id: str) -> str:
    if _NAME.fullmatch(run_id) is None:
        raise ValueError("the run has no such name")
    home = pwd.getpwuid(os.geteuid()).pw_dir
    return f"{home}/{wire.PRIVATE_FOLDERS}/{run_id}"

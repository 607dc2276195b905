"""Describe how to fix a file of the configuration or the state that cannot be read."""

import errno
import os
from pathlib import Path

_ADVICE = {
    errno.ENOENT: "Create it, or name another file.",
    errno.ENOTDIR: "Name a file that exists.",
    errno.EISDIR: "Name a file, not a folder.",
}
_REFUSED = frozenset({errno.EACCES, errno.EPERM})
_ELSE = "Check the name and the disk."


def unreadable(path: Path, error: OSError | ValueError) -> str:
    """Return what happened, to which file, and what to do next.

    A ``ValueError`` is that of a name which no file can have.
    """
    why = getattr(error, "strerror", None) or error
    number = getattr(error, "errno", None) or 0
    advice = _open_it(path) if number in _REFUSED else _ADVICE.get(number, _ELSE)
    return f"{path} cannot be read: {why}. {advice}"


def opens_folder(path: Path) -> str:
    """Return how to open the outermost folder that keeps this user from a path; empty if none."""
    for folder in reversed(path.absolute().parents):
        if not os.access(folder, os.X_OK, effective_ids=True):
            return f"If {folder} is yours, run: chmod u+rwx '{folder}'" if folder.is_dir() else ""
    return ""


def _open_it(path: Path) -> str:
    return opens_folder(path) or f"If it is yours, run: chmod u+r '{path}'"

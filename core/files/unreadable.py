"""Describe how to fix a file of the configuration or the state that cannot be read."""

import errno
from pathlib import Path

_ADVICE = {
    errno.ENOENT: "Create it, or name another file.",
    errno.ENOTDIR: "Name a file that exists.",
    errno.EISDIR: "Name a file, not a folder.",
    errno.EACCES: "If it is yours, run: chmod u+r '{path}'",
    errno.EPERM: "If it is yours, run: chmod u+r '{path}'",
}
_ELSE = "Check the name and the disk."


def unreadable(path: Path, error: OSError | ValueError) -> str:
    """Return what happened, to which file, and what to do next.

    A ``ValueError`` is that of a name which no file can have.
    """
    why = getattr(error, "strerror", None) or error
    advice = _ADVICE.get(getattr(error, "errno", None) or 0, _ELSE).format(path=path)
    return f"{path} cannot be read: {why}. {advice}"

"""Determine where a file's rules apply: everywhere, or in the project that the file is in."""

import os
from dataclasses import dataclass
from pathlib import Path

_FOLDERS = frozenset((".claude", ".codex", ".gemini"))


@dataclass(frozen=True, slots=True)
class Origin:
    """A file: its name for people, the user's home, and its project's folder, if it has one."""

    name: str
    home: str
    folder: str | None = None


def origin_of(path: Path, home: str, folder: str | None = None) -> Origin:
    """Return where the rules of a file apply; ``folder`` is what a person specified.

    A file below ``.claude``, ``.codex`` or ``.gemini`` in a folder other than the home belongs to
    that folder. Any other is taken for the user's.
    """
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - links in the name are the person's
    found = folder
    for parent in absolute.parents:
        if folder is None and parent.name in _FOLDERS and str(parent.parent) not in {home, "/etc"}:
            found = str(parent.parent)
            break
    return Origin(str(path), home, found)

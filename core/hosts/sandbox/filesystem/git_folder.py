"""Recognise git's own folders: what makes git run commands, and what may still appear there.

A name in such a folder that did not exist before a run may only contain what `git init` and
`git clone` write; everything else that git would obey is moved away.
"""

import os
import re
import stat
from typing import Final

MARKS: Final = frozenset(("objects", "refs"))
"""What every folder contains that git takes for a repository's (gitrepository-layout(5))."""

LINKED_MARKS: Final = frozenset(("HEAD", "commondir"))
"""What the folder of a linked work tree has, from which git also takes ``config.worktree``."""

WORK_TREE_MARK: Final = ".git"
"""What the top of a work tree has: a folder, or, of a submodule or a linked one, a file."""

LED_BY: Final = ("config.worktree", "commondir")
"""What git reads instead of, or besides, the ``config`` and ``hooks`` of a folder."""

_MOST_BYTES = 64 * 1024
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_SECTION = re.compile(r'\[(core|user|remote|branch|submodule)(?: "[\w./+@-]+")?\]')
_KEYS = {
    "core": "repositoryformatversion|filemode|bare|logallrefupdates|ignorecase|symlinks"
    "|precomposeunicode",
    "user": "name|email",
    "remote": "url|fetch",
    "branch": "remote|merge",
    "submodule": "active|url",
}
_ENTRIES = {
    section: re.compile(rf"(?:{keys}) = (?!-)(?!.*::)[\w .,:/@+*()-]*")
    for section, keys in _KEYS.items()
}


def is_harmless(folder: int, name: str) -> bool:
    """Return whether a name in a git folder contains only what git itself writes at first.

    ``folder`` is a descriptor. What cannot be read for certain is not harmless.
    """
    try:
        if name == "config":
            return _is_plain_config(_text(folder, name))
        if name == "hooks":
            return _has_only_samples(folder, name)
        return name == "commondir" and _text(folder, name).strip() == "../.."
    except (OSError, ValueError):
        return False


def _text(folder: int, name: str) -> str:
    """Return a small regular file's content, which has one name only.

    Raises:
        OSError: it cannot be read.
        ValueError: it is something else, or not text.
    """
    fd = os.open(name, _READ, dir_fd=folder)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise ValueError(name)
        content = os.read(fd, _MOST_BYTES + 1)
    finally:
        os.close(fd)
    if len(content) > _MOST_BYTES:
        raise ValueError(name)
    return content.decode("utf-8")


def _is_plain_config(text: str) -> bool:
    """Return whether each line is a section, or a setting in it, that only names things."""
    section = ""
    for line in text.split("\n"):
        heading = _SECTION.fullmatch(line)
        if heading is not None:
            section = heading[1]
        elif line and not (section and _ENTRIES[section].fullmatch(line.removeprefix("\t"))):
            return False
    return True


def _has_only_samples(folder: int, name: str) -> bool:
    fd = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
    try:
        return all(one.endswith(".sample") for one in os.listdir(fd))  # noqa: PTH208 - by number
    finally:
        os.close(fd)

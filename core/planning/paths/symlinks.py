"""Find where the words of a command really lead: what is granted by path is judged by both ends.

Whoever may write to a granted folder can put a link there that leads out of it, so a word alone
says nothing. Everything that a word may name is looked up, even glued to an option; only what leads
elsewhere than it reads is reported. What is in /proc is not followed: the links there lead
somewhere else for each process and moment.
"""

# ruff: noqa: PTH114, PTH115, PTH118
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import os
import stat
from typing import Final

from core.files.lookup import check_looked
from core.model.command import UNKNOWN_LEAD
from core.policy.matching.path_arguments import LONGEST_PATH, normal, pieces

_MOST: Final = 8192
"""Pieces of words that are looked up for one command; nobody writes one with more."""

_MOST_FOLLOWED: Final = 40
"""Links that the kernel follows for one path (path_resolution(7))."""

Links = tuple[tuple[str, str], ...]


def links_of(argv: tuple[str, ...], cwd: str) -> Links:
    """Return the paths that a command may name and that lead elsewhere, each with its real path.

    ``cwd`` is a real path. See ``PlannedCommand.links``.
    """
    found: dict[str, str] = {}
    words = dict.fromkeys(argv[1:])
    for word in words:
        _look(word, cwd, found)
    seen, left = set(words), _MOST
    for word in words:
        for piece in pieces(word):
            left -= 1
            if left < 0:
                found[cwd] = UNKNOWN_LEAD
                return tuple(found.items())
            if piece not in seen:
                seen.add(piece)
                _look(piece, cwd, found)
    return tuple(found.items())


def _look(word: str, cwd: str, found: dict[str, str]) -> None:
    path = os.path.join(cwd, word)
    if _too_long(word):
        return  # nobody can open it
    if _too_long(path):
        found[normal(path)] = UNKNOWN_LEAD  # from its folder, somebody can
        return
    if "/" not in word and not os.access(path, os.F_OK, follow_symlinks=False):
        return
    real, straight = real_path(word, cwd), normal(path)
    if real != straight:
        found[path if ".." in word.split("/") else straight] = real


def leads_elsewhere(path: str) -> bool:
    """Return whether an absolute path leads each process to its own file (/proc/self, /dev)."""
    return real_path(path, "/").startswith(("/proc/", "/dev/"))


def is_link_elsewhere(path: str) -> bool:
    """Return the same for a path whose folder is known to lead every process to one place."""
    return os.path.islink(path) and leads_elsewhere(path)


def real_path(word: str, cwd: str) -> str:
    """Return where a path leads, as far as it exists; the kernel's way, link by link.

    What is in /proc is not followed: see above.
    """
    at = "" if word.startswith("/") else cwd.rstrip("/")
    waiting = word.split("/")[::-1]
    followed = 0
    while waiting:
        name = waiting.pop()
        if name in {"", "."}:
            continue
        parent = at
        at = at.rpartition("/")[0] if name == ".." else f"{at}/{name}"
        target = "" if name == ".." else _target(at)
        if target is None and ".." not in waiting:
            at = normal("/".join((at, *reversed(waiting))))
            break  # nothing is below what does not exist
        if target:
            followed += 1
            if followed > _MOST_FOLLOWED or _too_long(parent + target):
                return UNKNOWN_LEAD
            waiting += target.split("/")[::-1]
            at = "" if target.startswith("/") else parent
    return at.encode(errors="replace").decode() or "/"


def _too_long(path: str) -> bool:
    return len(path) >= LONGEST_PATH // 4 and len(os.fsencode(path)) >= LONGEST_PATH


def _target(path: str) -> str | None:
    """Return what a link holds, ``""`` if none is to be followed, ``None`` if nothing is there."""
    if path.startswith("/proc/"):
        return ""
    try:
        if not stat.S_ISLNK(os.lstat(path).st_mode):  # half the time of a readlink that fails
            return ""
        return os.readlink(path)
    except FileNotFoundError:
        return None
    except OSError as error:
        check_looked(error)
        return ""

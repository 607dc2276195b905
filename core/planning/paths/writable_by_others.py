"""Find out who could change code that a command reads besides the files that are bound.

A bound file is handed over as it was approved (docs/explanation/running.md). What it loads itself
is not: imports next to a script, the includes of a Makefile. Whoever may write to a folder above
can put something else there. Neither root nor the gateway's own user counts; a sticky folder lets
nobody rename what is not theirs.
"""
# ruff: noqa: PTH116, PTH120
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import errno
import grp
import os
import pwd
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from grp import struct_group
from pwd import struct_passwd

from core.model.command import PinnedFile

_MOST_LINKS = 40
"""Links that the kernel follows on one path (path_resolution(7))."""
_MOST_NAMED = 5
_ACCESS_LIST = "system.posix_acl_access"


@dataclass(frozen=True, slots=True)
class Exposure:
    """A folder that others may write to, and who they are; both empty where there is none."""

    folder: str = ""
    writers: str = ""


def exposure(paths: Iterable[str]) -> Exposure:
    """Return the first folder above one of the absolute paths that others may write to.

    A folder that cannot be checked counts as one.
    """
    found = (Exposure(folder, _writers(folder)) for folder in _above(paths))
    return next((one for one in found if one.writers), Exposure())


def exposure_of_project(folder: str) -> Exposure:
    """Return the same for the folder in which a program searches for code by fixed names.

    A new file there is as good as a changed one, so even a sticky folder counts.
    """
    writers = _writers(folder, may_add=True)
    return Exposure(folder, writers) if writers else exposure((folder + "/.",))


def paths_of(files: Iterable[PinnedFile]) -> Iterator[str]:
    """Yield the paths under which files are opened, and those that they lead to."""
    for file in files:
        yield from (file.path, file.realpath)


def _above(paths: Iterable[str]) -> Iterator[str]:
    """Yield the folders above absolute paths, each once, the nearest first."""
    seen: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in seen:
            seen.add(folder)
            yield folder
            folder = os.path.dirname(folder)


def is_replaceable(path: str) -> bool:
    """Return whether anybody but root could put another file, or other content, at a path.

    To root itself every path is one.
    """
    if os.geteuid() == 0:
        return True
    try:
        while not _is_open(os.lstat(path)):
            if path == "/":
                return False
            path = os.path.dirname(path)
    except OSError:
        return True
    return True


def _is_open(status: os.stat_result) -> bool:
    """Return whether anybody but root may write; in a sticky folder only to what is their own."""
    if stat.S_ISLNK(status.st_mode):
        return status.st_uid != 0
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    return status.st_uid != 0 or bool(status.st_mode & 0o022 and not sticky)


def changeable_on_the_way(path: str) -> str:
    """Return a folder or link on the way to a file by which others could lead it elsewhere.

    Every name that the kernel resolves counts, those behind links of links too; it must be ours or
    root's, and so must its folder, in which nobody else may write. What cannot be checked counts as
    changeable. ``""`` where nothing is.
    """
    left, at, links = path.split("/")[::-1], "/", 0
    while left:
        name = left.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, name)  # noqa: PTH118
        if _is_shared(at):
            return at
        if links > _MOST_LINKS or not _is_trusted(here):
            return here
        if not os.path.islink(here):  # noqa: PTH114
            at = here
            continue
        links += 1
        target = os.readlink(here)  # noqa: PTH115
        at = "/" if target.startswith("/") else at
        left += target.split("/")[::-1]
    return ""


def _is_trusted(path: str) -> bool:
    """Return whether a name, not what a link leads to, belongs to us or to root."""
    try:
        return os.lstat(path).st_uid in {0, os.geteuid()}
    except OSError:
        return False


def _is_shared(folder: str, *, may_add: bool = False) -> bool:
    """Return whether others may rename what is in a folder; ``may_add``: or put more into it."""
    try:
        status = os.stat(folder)
    except OSError:
        return True
    if status.st_mode & stat.S_ISVTX and not may_add:
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and _has_others(folder, status)


def _has_others(folder: str, status: os.stat_result) -> bool:
    """Return whether a folder's group is more than its owner: many systems give each user one."""
    if _ACCESS_LIST in _attributes(folder):
        return True  # the group's bits are then the mask of whoever the list names
    return _members(status.st_gid, {0, status.st_uid}) != []


def _writers(folder: str, *, may_add: bool = False) -> str:
    """Return who may write to a folder besides root and this user, ``""`` for nobody."""
    try:
        status = os.stat(folder)
    except OSError:
        return "nobody knows who"
    found = [] if status.st_uid in {0, os.geteuid()} else [_name(pwd.getpwuid, status.st_uid)]
    if _is_shared(folder, may_add=may_add):
        found.append(_sharers(folder, status))
    return " and ".join(found)


def _sharers(folder: str, status: os.stat_result) -> str:
    if status.st_mode & stat.S_IWOTH:
        return "every user"
    if _ACCESS_LIST in _attributes(folder):
        return "whoever its access control list names"
    group = _name(grp.getgrgid, status.st_gid)
    members = _members(status.st_gid, {0, status.st_uid})
    more = ", …" if len(members) > _MOST_NAMED else ""
    return f"group {group} ({', '.join(members[:_MOST_NAMED])}{more})"


def _members(gid: int, but: set[int]) -> list[str]:
    """Return the names of a group's users; of an unknown group, its number."""
    try:
        named = [pwd.getpwnam(name) for name in grp.getgrgid(gid).gr_mem]
    except KeyError:
        return [str(gid)]
    users = (*named, *(one for one in pwd.getpwall() if one.pw_gid == gid))
    return sorted({one.pw_name for one in users if one.pw_uid not in but})


def _name(find: Callable[[int], struct_passwd | struct_group], number: int) -> str:
    try:
        return str(find(number)[0])
    except KeyError:
        return str(number)


def _attributes(folder: str) -> list[str]:
    try:
        return os.listxattr(folder)
    except OSError as error:
        # A file system without them; where the lookup fails there may be one.
        return [] if error.errno == errno.ENOTSUP else [_ACCESS_LIST]

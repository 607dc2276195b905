"""Find out who could put another file in a script's place between the look and the start.

A program is started by descriptor, so its name matters no more; an interpreter opens its script by
name. Whoever may write to a folder above it can rename another file to that name, and no lease
hinders that (docs/explanation/running.md). Told are folders that users may write to who are neither
their owner nor root; a sticky folder lets nobody rename what is not theirs.
"""
# ruff: noqa: PTH116, PTH120
# pathlib is ten times slower here and rewrites paths (`a/` becomes `a`).

import grp
import os
import pwd
import stat
from collections.abc import Iterable

from core.model.command import PinnedFile

_ACCESS_LIST = "system.posix_acl_access"


def shared_folder(files: Iterable[PinnedFile]) -> str:
    """Return a folder above one of the files that other users may write to, ``""`` if none is.

    A folder that cannot be looked at counts as one.
    """
    return shared_folder_above(path for file in files for path in (file.path, file.realpath))


def shared_folder_above(paths: Iterable[str]) -> str:
    """Return the same for absolute paths."""
    seen: set[str] = set()
    for path in paths:
        folder = os.path.dirname(path)
        while folder not in seen:
            seen.add(folder)
            if _is_shared(folder):
                return folder
            folder = os.path.dirname(folder)
    return ""


def is_replaceable(path: str) -> bool:
    """Tell whether anybody but root could put another file, or other content, at a path.

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
    """Tell whether anybody but root may write; in a sticky folder only to what is their own."""
    if stat.S_ISLNK(status.st_mode):
        return status.st_uid != 0
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    return status.st_uid != 0 or bool(status.st_mode & 0o022 and not sticky)


def _is_shared(folder: str) -> bool:
    try:
        status = os.stat(folder)
    except OSError:
        return True
    if status.st_mode & stat.S_ISVTX:
        return False
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and _has_others(folder, status)


def _has_others(folder: str, status: os.stat_result) -> bool:
    """Tell whether a folder's group is more than its owner: many systems give each user one."""
    if _ACCESS_LIST in _attributes(folder):
        return True  # the group's bits are then the mask of whoever the list names
    own = {0, status.st_uid}
    try:
        members = {pwd.getpwnam(name).pw_uid for name in grp.getgrgid(status.st_gid).gr_mem}
    except KeyError:
        return True
    primary = {one.pw_uid for one in pwd.getpwall() if one.pw_gid == status.st_gid}
    return not members | primary <= own


def _attributes(folder: str) -> list[str]:
    try:
        return os.listxattr(folder)
    except OSError:
        return []  # a file system without them

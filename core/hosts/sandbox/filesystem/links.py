"""Find where links at protected places lead, since programs obey what is there just as much.

A hook is often a link to a script of the project, and an editor's folder one to a shared folder.
"""
# ruff: noqa: PTH112, PTH114, PTH115, PTH116
# Asked for each run; pathlib is ten times slower here.

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from core.hosts.sandbox.filesystem.git_folder import MARKS

_GIT = ".git"
_MOST_LOOKED_AT = 256
"""Entries of a protected folder that are checked."""
_MOST_LINKS = 40
"""How many the kernel follows (path_resolution(7))."""
_MOST_PLACES = 64
_Identity = tuple[int, int]


def parts(path: str) -> Iterator[str]:
    """Yield the paths that lead to a path, and itself."""
    for at, letter in enumerate(path):
        if letter == "/" and at:
            yield path[:at]
    yield path


def lies_in_protected(folder: str, protected: Iterable[str]) -> bool:
    """Return whether an absolute path leads into a protected one, or into a git folder.

    A command in there would have that place as its workspace, in which nothing is protected. The
    protected place may have another name: by a link, or if case makes no difference.
    """
    names = tuple(protected)
    if not names:
        return False
    inside = f"{folder}/"
    if any(f"/{one}/" in inside for one in names) or _is_led_to(folder, names):
        return True
    if not any(one.startswith(f"{_GIT}/") for one in names):
        return False
    return f"/{_GIT}/" in inside or any(map(_is_git_folder, parts(folder)))


def _is_git_folder(path: str) -> bool:
    return all(os.path.lexists(f"{path}/{one}") for one in MARKS)


def _is_led_to(folder: str, names: tuple[str, ...]) -> bool:
    """Return whether a protected place further up is the folder, or contains it."""
    above: dict[_Identity, int] = {}
    for level, path in enumerate(parts(folder)):
        found = _identity(path)
        if found is not None:
            above[found] = level
    return any(
        level < above.get(found, 0)
        for level, path in enumerate(parts(folder))
        for name in names
        if (found := _identity(f"{path}/{name}")) is not None
    )


def _identity(path: str) -> _Identity | None:
    if not os.access(path, os.F_OK):  # cheaper than an exception
        return None
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def led_to(workspace: str, paths: Mapping[str, int], protected: Iterable[str]) -> Iterator[str]:
    """Yield the places in a workspace that protected links lead to, and each link on the way.

    ``workspace`` is a real path. ``paths`` are the protected paths in it that are links or folders,
    with a descriptor; those in the folders above it are found here. All are yielded as relative
    paths.
    """
    links = [_link for path, fd in paths.items() for _link in _links(f"{workspace}/{path}", fd)]
    links += _links_above(workspace, tuple(protected))
    seen: dict[str, None] = {}
    while links and len(seen) < _MOST_PLACES:
        for place in _way(links.pop()):
            if place.startswith(f"{workspace}/") and place not in seen:
                seen[place] = None
                links += _links(place) if os.path.isdir(place) else ()
    yield from (one[len(workspace) + 1 :] for one in seen)


def _links_above(workspace: str, names: tuple[str, ...]) -> Iterator[str]:
    for folder in list(parts(workspace))[:-1]:
        for name in names:
            for part in parts(name):
                path = f"{folder}/{part}"
                if not os.path.lexists(path):
                    break
                if os.path.islink(path) or (part == name and os.path.isdir(path)):
                    yield from _links(path)


def _links(path: str, fd: int = -1) -> Iterator[str]:
    """Yield a path that is a link, or the links in the folder that it is."""
    if os.path.islink(path):
        yield path
        return
    try:
        with os.scandir(path if fd < 0 else f"/proc/self/fd/{fd}") as entries:
            names = [one.name for one in islice(entries, _MOST_LOOKED_AT) if one.is_symlink()]
    except OSError:
        return
    yield from (f"{path}/{one}" for one in names)


def _way(path: str) -> Iterator[str]:
    """Yield each link on the way to where an absolute path leads, and that place."""
    at, rest, followed = "", path.split("/"), 0
    while rest:
        part = rest.pop(0)
        if part == "..":
            at = at.rpartition("/")[0]
        elif part not in {"", "."}:
            at = f"{at}/{part}"
            if os.path.islink(at) and followed < _MOST_LINKS:
                yield at
                followed += 1
                target = os.readlink(at)
                at = "" if target.startswith("/") else at.rpartition("/")[0]
                rest = [*target.split("/"), *rest]
    if at:
        yield at

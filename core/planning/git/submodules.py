"""Name the submodules that a repository's index lists (gitformat-index(5))."""

# ruff: noqa: PTH118, PTH208
# pathlib is ten times slower here.

import os
import stat
from functools import lru_cache
from typing import Final

from core.files.file_identity import FileIdentity, identity
from core.files.lookup import check_looked, open_regular
from core.planning.paths.pins import Unpinned
from core.planning.paths.symlinks import leads_elsewhere

_GITLINK: Final = 0o160000
_MODE: Final = _GITLINK.to_bytes(4)
_FOLDED: Final = 0o040000.to_bytes(4)
"""The mode of an entry that represents a whole folder (a sparse index)."""
_LINK: Final = b"link"
_SPARSE: Final = b"sdir"
_HEADER: Final = 12
_MODE_AT: Final = 24
_FIXED: Final = 40  # of an entry, before the object's name
_NAME_LENGTH: Final = 0xFFF
_EXTENDED: Final = 0x4000
_READABLE: Final = (2, 3)
_SHA1: Final = 20


_LARGEST: Final = 256 * 1024 * 1024


def submodules(folder: str) -> tuple[str, ...] | Unpinned:
    """Return the paths of the submodules in the index of a repository, below its work tree."""
    found: list[str] = []
    waiting = [folder + "/index"]
    for path in waiting:
        try:
            status = _status(path)
            if status is None:
                return Unpinned(f"`{path}` leads each process to a file of its own")
            if not stat.S_ISREG(status.st_mode):
                return Unpinned(f"`{path}` is not a regular file")
            listed, split = _of(path, identity(status))
        except FileNotFoundError:
            continue
        except OSError as error:
            check_looked(error)
            return Unpinned(f"`{path}` cannot be read ({error.strerror})")
        if listed is None:
            return Unpinned(f"`{path}` lists submodules in an unsupported way")
        found += listed
        if split and len(waiting) == 1:
            waiting += _shared(folder)
    return tuple(found)


def _status(path: str) -> os.stat_result | None:
    """Return the status of a file, ``None`` if a link to it leads each process to another.

    Raises:
        OSError: it does not exist, or cannot be looked up.
    """
    status = os.lstat(path)
    if not stat.S_ISLNK(status.st_mode):
        return status
    return None if leads_elsewhere(path) else os.stat(path)  # noqa: PTH116 - as above


def _shared(folder: str) -> list[str]:
    """Return the files that hold the other half of an index that is split."""
    try:
        names = [one for one in os.listdir(folder) if one.startswith("sharedindex.")]
    except OSError as error:
        check_looked(error)
        names = []
    return [os.path.join(folder, name) for name in names]


@lru_cache(maxsize=64)
def _of(path: str, as_it_is: FileIdentity) -> tuple[tuple[str, ...] | None, bool]:
    """Return what one index lists, ``None`` where that is not understood; and if it may be split.

    A split one has an extension of that name; so may a file of the work tree.
    """
    if as_it_is[2] > _LARGEST:
        return None, False
    with open_regular(path) as file:
        content = file.read()
    return _listed(content), _LINK in content


def _listed(content: bytes) -> tuple[str, ...] | None:
    # Each entry holds its mode in these very bytes: where they are not, there is no such entry.
    if not any(mark in content for mark in (_MODE, _FOLDED, _SPARSE)):
        return ()
    version, count = int.from_bytes(content[4:8]), int.from_bytes(content[8:_HEADER])
    if content[:4] != b"DIRC" or version not in _READABLE:
        return None
    try:
        return tuple(_entries(content, count))
    except ValueError:
        return None


def _entries(content: bytes, count: int) -> list[str]:
    """Walk the entries; each is padded with 1 to 8 NULs to a multiple of 8 bytes.

    Raises:
        ValueError: it is cut off, its objects have names of another length, or an entry represents
            a folder, below which git may find submodules when it reads the folder's tree.
    """
    found, at = [], _HEADER
    for _ in range(count):
        start = at + _FIXED + _SHA1 + 2
        flags = int.from_bytes(content[start - 2 : start])
        start += 2 if flags & _EXTENDED else 0
        end = content.index(b"\0", start)
        if (flags & _NAME_LENGTH) not in {end - start, _NAME_LENGTH}:
            raise ValueError(at)
        mode = content[at + _MODE_AT : at + _MODE_AT + 4]
        if mode == _FOLDED:
            raise ValueError(at)
        if mode == _MODE:
            found.append(os.fsdecode(content[start:end]))
        at += (end - at) // 8 * 8 + 8
    _check_extensions(content, at)
    return found


def _check_extensions(content: bytes, at: int) -> None:
    """Walk the extensions after the entries, up to the checksum.

    Raises:
        ValueError: the index is a sparse one.
    """
    while at + 8 <= len(content) - _SHA1:
        if content[at : at + 4] == _SPARSE:
            raise ValueError(at)
        at += 8 + int.from_bytes(content[at + 4 : at + 8])

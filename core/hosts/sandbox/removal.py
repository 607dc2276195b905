"""Remove a tree that a sandboxed command has made, whatever it made of it.

A tree may be deeper than a path can be long and than Python recurses, and closed to its own owner.
So everything goes by descriptors, and what is deep is moved up first.
"""
# ruff: noqa: PTH106, PTH208
# All names are relative to descriptors, which pathlib cannot take.

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays."""
    with suppress(OSError):
        with _opened(path) as top:
            while _clear(top):
                pass
        os.rmdir(path)


def _clear(top: int) -> bool:
    """Empty the folders of a tree's top into the top; return whether there was something to do."""
    prefix = secrets.token_hex(8)
    progress = False
    for number, name in enumerate(os.listdir(top)):
        removed = _unlink(name, top) or _raise_up(name, top, f"{prefix}.{number}")
        progress = removed or progress
    return progress


def _raise_up(name: str, top: int, prefix: str) -> bool:
    """Move the folders of a folder to the top, remove its files, and then itself.

    No folder is removed by trial: the kernel goes through all that is below it first.
    """
    progress = False
    with suppress(OSError), _opened(name, top) as folder:
        for number, one in enumerate(os.listdir(folder)):
            if _unlink(one, folder) or _move(one, folder, f"{prefix}.{number}", top):
                progress = True
    with suppress(OSError):
        os.rmdir(name, dir_fd=top)
        progress = True
    return progress


def _unlink(name: str, folder: int) -> bool:
    """Remove what is no folder; return whether that worked."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _move(name: str, folder: int, new: str, top: int) -> bool:
    """Move a folder to the top; a folder that is moved has to be writable itself (rename(2))."""
    try:
        _allow(name, folder)
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=top)
    except OSError:
        return False
    return True


@contextmanager
def _opened(name: str, folder: int | None = None) -> Iterator[int]:
    _allow(name, folder)
    fd = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield fd
    finally:
        os.close(fd)


def _allow(name: str, folder: int | None) -> None:
    """Give the owner the rights to a folder that a command may have taken away."""
    mode = os.lstat(name) if folder is None else os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(mode.st_mode) and stat.S_IMODE(mode.st_mode) & stat.S_IRWXU != stat.S_IRWXU:
        os.chmod(name, stat.S_IRWXU, dir_fd=folder)

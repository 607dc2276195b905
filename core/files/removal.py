"""Remove a tree that a sandboxed command has made, whatever it made of it.

A tree may be deeper than a path can be long and than Python recurses, and closed to its own owner.
So everything goes by descriptors, and what is deep is moved up first.
"""
# ruff: noqa: PTH106
# All names are relative to descriptors, which pathlib cannot take.

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_DEEPEST = 32
"""Levels that are held open, and recursed into."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def remove_tree(path: str) -> None:
    """Remove a folder with all that is in it; what cannot be removed stays."""
    with suppress(OSError):
        with _opened(path) as top:
            while _Pass(top).empty(top):
                pass
        os.rmdir(path)


class _Pass:
    """One way through a tree: what is below the deepest level is moved to the top."""

    def __init__(self, top: int) -> None:
        self._top = top
        self._prefix = secrets.token_hex(8)
        self._moved = 0

    def empty(self, folder: int, level: int = 0) -> bool:
        """Empty an open folder; return whether another pass would find something to do."""
        before = self._moved
        for name in os.listdir(folder):
            if not _unlink(name, folder):
                self._remove(name, folder, level)
        return self._moved > before

    def _remove(self, name: str, folder: int, level: int) -> None:
        with suppress(OSError):
            if level == _DEEPEST:
                self._raise_up(name, folder)
                return
            with _opened(name, folder) as below:
                self.empty(below, level + 1)
            # Not by trial: where it is not empty, the kernel goes through all that is below it.
            os.rmdir(name, dir_fd=folder)

    def _raise_up(self, name: str, folder: int) -> None:
        """Move a folder to the top; it has to be writable itself (rename(2))."""
        _allow(name, folder)
        new = f"{self._prefix}.{self._moved}"
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=self._top)
        self._moved += 1


def _unlink(name: str, folder: int) -> bool:
    """Remove what is not a folder; return whether that worked."""
    try:
        os.unlink(name, dir_fd=folder)
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

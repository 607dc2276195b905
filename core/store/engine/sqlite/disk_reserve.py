"""Keep a file that is given up when the disk is full, so that denials can still be written.

Without it, a full disk loses even the refusal: SQLite needs room to write anything at all.
"""

import os
import stat
from pathlib import Path
from typing import Final

BALLAST_BYTES: Final = 8 * 1024 * 1024
_MARGIN: Final = 1024 * 1024
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class DiskReserve:
    """``<database>.ballast``: ``BALLAST_BYTES`` of allocated disk."""

    def __init__(self, database: Path) -> None:
        self._path = database.with_name(database.name + ".ballast")

    def load(self) -> bool:
        """Allocate the file unless it exists; ``False`` where the disk has no room for it."""
        if self._is_there():
            return True
        if self._free() < BALLAST_BYTES + _MARGIN:
            return False
        return self._allocate()

    def drop(self) -> None:
        """Give the room to the database."""
        self._path.unlink(missing_ok=True)

    def nearly_full(self) -> bool:
        """Return whether less than a megabyte is free."""
        return self._free() < _MARGIN

    def _is_there(self) -> bool:
        try:
            status = self._path.lstat()
        except OSError:
            return False
        return stat.S_ISREG(status.st_mode) and status.st_size >= BALLAST_BYTES

    def _allocate(self) -> bool:
        """Recreate the file: an existing one is too short, or a link to somebody else's."""
        try:
            self.drop()
            fd = os.open(self._path, _NEW, 0o600)
        except OSError:
            return False
        try:
            os.posix_fallocate(fd, 0, BALLAST_BYTES)
        except OSError:
            self.drop()  # what was allocated until then
            return False
        finally:
            os.close(fd)
        return True

    def _free(self) -> int:
        disk = os.statvfs(self._path.parent)
        return disk.f_bavail * disk.f_frsize

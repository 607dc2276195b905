"""Notice that the home of a running gateway is no longer its user's alone, or lost its database.

What the start refuses (``bot.settings.home``, ``core.ipc.unix``) must not arise later: whoever may
write to the home can replace every file that the gateway obeys. And where the database's file was
removed or replaced, the gateway goes on in one that nobody finds again after it has ended.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class _Database:
    """The database's file as it was opened."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, path: Path) -> "_Database":
        status = path.stat()
        return cls(str(path), status.st_dev, status.st_ino)

    def fault(self) -> str:
        try:
            status = os.stat(self.path)  # noqa: PTH116 - plain strings before each spawn
        except OSError as error:
            what = f"{self.path} cannot be checked: {error.strerror}"
        else:
            if (status.st_dev, status.st_ino) == (self.device, self.inode):
                return ""
            what = f"{self.path} is not the file that the gateway opened"
        return (
            f"{what}, so what is stored now would be lost. Stop the gateway, put the database or a "
            "backup of it back, and start it again"
        )


@dataclass(frozen=True, slots=True)
class HomeCheck:
    """The home as it was at the start: path, device and inode, and the database's file if any."""

    path: str
    device: int
    inode: int
    database: _Database | None = None

    @classmethod
    def of(cls, home: Path, database: Path | None = None) -> "HomeCheck":
        """Remember which folder it is, and which file the open database has.

        Raises:
            OSError: one of them does not exist.
        """
        status = home.stat()
        held = None if database is None else _Database.of(database)
        return cls(str(home), status.st_dev, status.st_ino, held)

    def fault(self) -> str:
        """Return what is wrong now and what to do, or an empty string; two stats at most."""
        return self._fault() or ("" if self.database is None else self.database.fault())

    def _fault(self) -> str:
        try:
            status = os.stat(self.path)  # noqa: PTH116 - plain strings before each spawn
        except OSError as error:
            return f"{self.path} cannot be checked: {error.strerror}. Restore it"
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            return (
                f"{self.path} is not the folder that the gateway was started with. Restore that "
                "one, or stop the gateway, review this one and start it again"
            )
        if status.st_uid != os.geteuid():
            return f"{self.path} now belongs to uid {status.st_uid}. Run: chown"
        mode = stat.S_IMODE(status.st_mode)
        if mode & _OTHERS:
            return (
                f"others can get into {self.path} (mode {mode:04o}), where they could change what "
                f"runs. Check for changes there, then run: chmod 700 '{self.path}'"
            )
        return ""

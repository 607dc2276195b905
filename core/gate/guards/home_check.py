"""Notice that the home of a running gateway is no longer its user's alone, or lost its database.

What the start refuses (``bot.settings.home``, ``core.ipc.unix``) must not arise later: whoever may
write to the home can replace every file that the gateway obeys. And where a file of the
database was removed or replaced, the gateway goes on in one that nobody finds after its end.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_OTHERS = 0o077
_BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a database for as long as a gateway has it open."""


@dataclass(frozen=True, slots=True)
class _File:
    """One of the database's files as it was opened; ``linked`` if its path may be a link."""

    path: str
    device: int
    inode: int
    linked: bool

    @classmethod
    def of(cls, path: str, *, linked: bool = False) -> "_File":
        status = os.stat(path, follow_symlinks=linked)  # noqa: PTH116 - as in ``fault``
        return cls(path, status.st_dev, status.st_ino, linked)

    def fault(self) -> str:
        try:
            # Plain strings before each spawn.
            status = os.stat(self.path, follow_symlinks=self.linked)  # noqa: PTH116
        except OSError as error:
            return f"{self.path} cannot be checked: {error.strerror}"
        if (status.st_dev, status.st_ino) != (self.device, self.inode):
            return f"{self.path} is not the file that the gateway opened"
        return ""


@dataclass(frozen=True, slots=True)
class _Database:
    """The database's files as they were opened: what is stored is first in that of the log."""

    files: tuple[_File, ...]

    @classmethod
    def of(cls, path: Path) -> "_Database":
        # SQLite names the files beside it after where a link leads.
        real = os.path.realpath(path)
        named = (_File.of(str(path), linked=True), _File.of(real))
        beside = (f"{real}{suffix}" for suffix in _BESIDE)
        return cls((*named, *(_File.of(one) for one in beside if os.path.lexists(one))))

    def fault(self) -> str:
        what = next(filter(None, (one.fault() for one in self.files)), "") or self._emptied()
        return what and (
            f"{what}, so what is stored now would be lost. Stop the gateway, put the database or a "
            "backup of it back, and start it again"
        )

    def _emptied(self) -> str:
        path = self.files[0].path
        try:
            return "" if os.stat(path).st_size else f"{path} was emptied"  # noqa: PTH116 - as above
        except OSError as error:
            return f"{path} cannot be checked: {error.strerror}"


@dataclass(frozen=True, slots=True)
class HomeCheck:
    """The home as it was at the start: path, device and inode, and the database's file if any."""

    path: str
    device: int
    inode: int
    database: _Database | None = None

    @classmethod
    def of(cls, home: Path, database: Path | None = None) -> "HomeCheck":
        """Remember which folder it is, and which files the open database has.

        Raises:
            OSError: one of them does not exist.
        """
        status = home.stat()
        held = None if database is None else _Database.of(database)
        return cls(str(home), status.st_dev, status.st_ino, held)

    def fault(self) -> str:
        """Return what is wrong now and what to do, or an empty string; six stats at most."""
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

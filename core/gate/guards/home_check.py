"""Notice that the home of a running gateway is no longer its user's alone.

What the start refuses (``bot.settings.home``, ``core.ipc.unix``) must not arise later: whoever may
write to the home can replace every file that the gateway obeys.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

_OTHERS = 0o077


@dataclass(frozen=True, slots=True)
class HomeCheck:
    """The home as it was at the start: path, device and inode."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, home: Path) -> "HomeCheck":
        """Remember which folder it is.

        Raises:
            OSError: it does not exist.
        """
        status = home.stat()
        return cls(str(home), status.st_dev, status.st_ino)

    def fault(self) -> str:
        """Return what is wrong with the home now and what to do, or an empty string; one stat."""
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

"""Keep a copy of the executors' interpreter that nobody may read.

The kernel lets no process of a user trace, or look into, a program that the user may not read
(execve(2), PR_SET_DUMPABLE). So an executor is closed to its own user from its first instruction
on; with a Python that everybody may read, it would be open until it closed itself, 20 ms later.
"""

import os
import shutil
from pathlib import Path

from bot.executor_setup.archive import exposed
from core.errors import StateError
from core.isolation.process import INTERPRETER

_MODE = 0o711
_FOLDER_MODE = 0o755
_CONFIG = "pyvenv.cfg"


def is_copied(python: str, to: str = INTERPRETER) -> bool:
    """Return whether the copy matches this interpreter as it is now, and is only root's.

    By size and modification time, not content: the gateway's user may not read it either.
    """
    try:
        found, origin = os.lstat(to), os.stat(python)  # noqa: PTH116 - beside `lstat`
        config = (Path(to).parent / _CONFIG).read_text()
    except (OSError, UnicodeDecodeError):
        return False
    same = (found.st_size, found.st_mtime_ns) == (origin.st_size, origin.st_mtime_ns)
    closed = found.st_mode & 0o7777 == _MODE and not exposed(to)
    return same and closed and config == _config(python)


def copy(python: str, to: str = INTERPRETER) -> None:
    """Copy an interpreter, with a file next to it that says where its library is.

    Raises:
        StateError: users other than root could change the copy.
    """
    path = Path(to)
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    path.parent.chmod(_FOLDER_MODE)
    config = path.with_name(_CONFIG)
    config.write_text(_config(python))
    config.chmod(0o644)
    fresh = path.with_name(f".{path.name}.new")
    fresh.unlink(missing_ok=True)
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with open(python, "rb") as origin, os.fdopen(fd, "wb") as file:  # noqa: PTH123 - as below
        shutil.copyfileobj(origin, file)
        found = os.fstat(origin.fileno())
        file.flush()
        os.utime(file.fileno(), ns=(found.st_atime_ns, found.st_mtime_ns))
        os.fchmod(file.fileno(), _MODE)
    fresh.replace(path)
    if changeable := exposed(to):
        raise StateError(
            f"{changeable} can be changed by users other than root; sudo must not run it"
        )


def is_there(to: str = INTERPRETER) -> bool:
    """Return whether any part of the copy exists."""
    return os.path.lexists(Path(to).parent)


def remove(to: str = INTERPRETER) -> None:
    """Remove the copy and its folder."""
    shutil.rmtree(Path(to).parent)


def _config(python: str) -> str:
    return f"home = {os.path.dirname(python)}\n"  # noqa: PTH120 - text

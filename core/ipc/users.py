"""Name the users of this machine, and the owners of the additional uids assigned to users."""

import pwd
from functools import lru_cache
from pathlib import Path
from typing import Final

SUBORDINATE: Final = Path("/etc/subuid")
"""Which additional uids each user may use, for containers without root (subuid(5))."""
_FIELDS: Final = 3


@lru_cache(maxsize=256)
def user_name(uid: int) -> str:
    """Return the login name of a uid in the machine's user database, empty if it has none."""
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return ""


def owner_of(uid: int) -> str:
    """Return the user to whom an additional uid is assigned, empty if to none.

    One user commonly has 65,536 of them, and any program of that user may take each.
    """
    try:
        status = SUBORDINATE.stat()
    except OSError:
        return ""
    ranges = _ranges(SUBORDINATE, (status.st_mtime_ns, status.st_ino, status.st_size))
    return next((owner for owner, uids in ranges if uid in uids), "")


@lru_cache(maxsize=1)
def _ranges(file: Path, _version: tuple[int, int, int]) -> tuple[tuple[str, range], ...]:
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    rows = (line.split(":") for line in lines)
    return tuple(
        (row[0], range(int(row[1]), int(row[1]) + int(row[2])))
        for row in rows
        if len(row) == _FIELDS and row[1].isdecimal() and row[2].isdecimal()
    )

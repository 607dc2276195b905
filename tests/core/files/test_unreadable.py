import errno
import os
from pathlib import Path

import pytest

from core.files.unreadable import unreadable

PATH = Path("/home/ana/.sayso/config.json5")


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOENT, "Create it, or name another file."),
        (errno.EISDIR, "Name a file, not a folder."),
        (errno.EACCES, f"If it is yours, run: chmod u+r '{PATH}'"),
        (errno.EIO, "Check the name and the disk."),
    ],
)
def test_what_to_do(number: int, advice: str) -> None:
    """The file, the system's reason, and what to do about that reason."""
    why = os.strerror(number)

    said = unreadable(PATH, OSError(number, why))

    assert said == f"{PATH} cannot be read: {why}. {advice}"


def test_without_a_number() -> None:
    """An error that names no reason of the system keeps its own words."""
    assert (
        unreadable(PATH, OSError("odd"))
        == f"{PATH} cannot be read: odd. Check the name and the disk."
    )

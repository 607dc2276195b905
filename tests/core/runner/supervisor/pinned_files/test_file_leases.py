"""Take leases on one's own files, on others', and on none."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.runner.supervisor.pinned_files.file_leases import drop, is_exposed, take
from tests.support.gateway_process import ROOT

_AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from core.runner.supervisor.pinned_files.file_leases import is_exposed, take
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
fd = os.open(sys.argv[1], os.O_RDONLY)
print(is_exposed(os.fstat(fd)), repr(take(fd)))
"""


def test_a_writer_is_told_to_wait_until_the_lease_is_given_back(tmp_path: Path) -> None:
    """An opening for writing that may not wait is refused in that time, reading is not."""
    path = tmp_path / "tool"
    path.write_text("good")
    fd = os.open(path, os.O_RDONLY)
    assert take(fd) == ""
    with pytest.raises(BlockingIOError):
        os.open(path, os.O_WRONLY | os.O_NONBLOCK)
    os.close(os.open(path, os.O_RDONLY))

    drop(fd)
    os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
    drop(fd)  # repeating it does no harm
    os.close(fd)


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        (0o666, "True 'belongs to another user, and this one may write to it'"),
        (0o644, "False ''"),
    ],
)
def test_what_belongs_to_another_user(tmp_path: Path, mode: int, said: str) -> None:
    """Without the right to a lease a file that may be overwritten does not start."""
    path = tmp_path / "tool"
    path.write_text("good")
    path.chmod(mode)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    code = (sys.executable, "-c", _AS_NOBODY, path, ROOT)
    printed = subprocess.run(code, capture_output=True, text=True, check=True).stdout

    assert printed.strip() == said


def test_own_files_are_exposed(tmp_path: Path) -> None:
    """A file's owner can grant itself the right to write to it."""
    path = tmp_path / "tool"
    path.write_text("good")
    path.chmod(0o444)

    assert is_exposed(path.stat())

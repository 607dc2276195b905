"""The private folder of a run goes, whatever the run did to it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT

_AS_NOBODY = """
import os, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from core.hosts.sandbox import scratch
import shutil, logging
run = Path({run!r})
os.setgid(65534)
os.setuid(65534)
(run / "kept" / "deep").mkdir(parents=True)
(run / "kept" / "deep" / "file").write_bytes(b"x")
(run / "way").symlink_to({outside!r})
os.chmod(run / "kept" / "deep", 0)
os.chmod(run / "kept", 0)
os.chmod(run, 0)
if {mended!r}:
    scratch._remove_all(run)
else:
    shutil.rmtree(run, ignore_errors=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that any user can reach; pytest's own are closed to others."""
    with tempfile.TemporaryDirectory(prefix="sayso-scratch-", ignore_cleanup_errors=True) as name:
        Path(name).chmod(0o755)
        yield Path(name)


def _left(folder: Path, *, mended: bool) -> tuple[bool, int]:
    """Return whether the folder stays, and the rights of a folder that a link in it names."""
    run, outside = folder / "runs" / "run", folder / "outside"
    run.mkdir(parents=True)
    outside.mkdir()
    outside.chmod(0o755)
    for each in (run.parent, run, outside):
        os.chown(each, 65534, 65534)
    code = _AS_NOBODY.format(root=str(ROOT), run=str(run), outside=str(outside), mended=mended)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    return run.exists(), outside.stat().st_mode & 0o777


def test_a_folder_that_was_closed_goes(open_folder: Path) -> None:
    """A command that takes the rights away leaves nothing, and a link in it is not followed."""
    assert _left(open_folder, mended=True) == (False, 0o755)


def test_without_opening_it_would_stay(open_folder: Path) -> None:
    """The control: plain removal leaves the folder, and a disk could be filled for good."""
    assert _left(open_folder, mended=False)[0]

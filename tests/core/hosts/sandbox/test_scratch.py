"""The private folder of a run goes, whatever the run did to it."""

import os
import subprocess
import sys
from pathlib import Path

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


def _left(tmp_path: Path, *, mended: bool) -> tuple[bool, int]:
    """Return whether the folder stays, and the rights of a folder that a link in it names."""
    run, outside = tmp_path / "runs" / "run", tmp_path / "outside"
    run.mkdir(parents=True)
    outside.mkdir()
    outside.chmod(0o755)
    for folder in (run.parent, run, outside):
        os.chown(folder, 65534, 65534)
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    code = _AS_NOBODY.format(root=str(ROOT), run=str(run), outside=str(outside), mended=mended)
    subprocess.run([sys.executable, "-c", code], check=True, timeout=30)
    return run.exists(), outside.stat().st_mode & 0o777


def test_a_folder_that_was_closed_goes(tmp_path: Path) -> None:
    """A command that takes the rights away leaves nothing, and a link in it is not followed."""
    assert _left(tmp_path, mended=True) == (False, 0o755)


def test_without_opening_it_would_stay(tmp_path: Path) -> None:
    """The control: plain removal leaves the folder, and a disk could be filled for good."""
    assert _left(tmp_path, mended=False)[0]

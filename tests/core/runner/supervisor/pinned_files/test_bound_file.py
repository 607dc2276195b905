"""Identify an approved file by its names, and by what is read if it is gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.runner.supervisor.pinned_files.bound_file import Bound
from tests.support.gateway_process import ROOT

_AS_NOBODY = """
import os, sys
sys.path.insert(0, sys.argv[2])
from core.runner.supervisor.pinned_files.bound_file import Bound
from core.runner.supervisor.pinned_files.file_leases import Leases
os.setgroups([])
os.setgid(65534)
os.setuid(65534)
bound = Bound([sys.argv[1]], os.open(sys.argv[1], os.O_RDONLY))
print(os.readlink(f"/proc/self/fd/{bound.open(Leases())}"))
"""


def bound(path: Path) -> Bound:
    """Return a file as it is now."""
    return Bound([str(path)], os.open(path, os.O_RDONLY))


def test_it_is_there_while_its_name_leads_to_it(tmp_path: Path) -> None:
    """Not once it is gone, nor if another file has its name."""
    path = tmp_path / "x"
    path.write_text("one")
    one = bound(path)
    assert one.is_there()

    path.rename(tmp_path / "y")
    assert not one.is_there()

    path.write_text("one")
    assert not one.is_there()

    (tmp_path / "y").replace(path)
    assert one.is_there()
    one.close()


@pytest.mark.parametrize(("owner", "copied"), [(0, False), (65534, False), (65533, True)])
def test_a_file_that_its_owner_may_change_is_read_as_a_copy(
    tmp_path: Path, owner: int, *, copied: bool
) -> None:
    """No lease keeps another user from writing to his own file; root is trusted."""
    path = tmp_path / "x"
    path.write_text("one")
    path.chmod(0o644)
    os.chown(path, owner, -1)
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    code = (sys.executable, "-c", _AS_NOBODY, path, ROOT)
    opened = subprocess.run(code, capture_output=True, text=True, check=True).stdout.strip()

    assert opened == ("/memfd:sayso (deleted)" if copied else str(path))

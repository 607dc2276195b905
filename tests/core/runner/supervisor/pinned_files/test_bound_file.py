"""Identify an approved file by its names, and by what is read if it is gone."""

import os
from pathlib import Path

from core.runner.supervisor.pinned_files.bound_file import Bound


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

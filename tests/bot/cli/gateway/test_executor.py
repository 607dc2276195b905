"""Refuse what needs root, with a line that root's shell understands."""

import argparse
import os
from pathlib import Path

import pytest

import bot.executor_setup.setup  # noqa: F401 - read before the user changes
from bot.cli.gateway.executor import undo
from core.errors import BadRequest

_NOBODY = 65_534


def test_the_line_for_root_names_the_program_by_its_path() -> None:
    """Sudo searches a path of its own, in which a clone's ``.venv`` is not."""
    ours = os.geteuid()
    os.seteuid(_NOBODY if ours == 0 else ours)
    try:
        with pytest.raises(BadRequest) as refused:
            undo(argparse.Namespace(delete_users=False, dry_run=False, json=False))
    finally:
        os.seteuid(ours)

    named = str(refused.value).partition("`sudo ")[2].split()[0]
    assert Path(named).is_absolute()
    assert os.access(named, os.X_OK)

"""Run a table as one test, and report each row that fails."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.tracked import ROOT
from tests.support.tables import rows

FAILING = """
import pytest
from tests.support.tables import rows

@pytest.mark.parametrize("by", [1, 10])
@rows("left, right", [(1, 1), (2, 3), (4, 4), (5, 6)])
def test_same(left, right, by):
    assert left * by == right * by
"""


def test_each_row_that_fails_is_reported(tmp_path: Path) -> None:
    """Those after it are tried as well; what is parametrized beside it is a test each."""
    file = tmp_path / "test_failing.py"
    file.write_text(FAILING)
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "/dev/null", file],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert re.findall(r"^_+ test_same\[(\d+)\] \((.*)\) _+$", run.stdout, re.MULTILINE) == [
        ("1", "left=2, right=3"),
        ("1", "left=5, right=6"),
        ("10", "left=2, right=3"),
        ("10", "left=5, right=6"),
    ]


def test_a_table_without_rows_is_no_test() -> None:
    """As it would be without the table: nothing is held by it."""
    with pytest.raises(ValueError, match="no rows"):
        rows("left, right", [])


def test_a_row_has_a_value_for_each_name() -> None:
    """One too many or too few is a mistake in the table."""
    with pytest.raises(ValueError, match="argument"):
        rows("left, right", [(1, 2, 3)])

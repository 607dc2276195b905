"""Find what a line that nobody could read starts by now, and did not when it was judged."""

from pathlib import Path

import pytest

from core.planning.code.files.became_program import became_program
from tests.support.runs import planned, request, script


@pytest.mark.parametrize(
    ("line", "made", "found"),
    [
        ("PATH=$PWD/own:$PATH; eval tool", "own/tool", True),
        ("PATH=$PWD/own:$PATH; eval tool", "other/tool", False),
        ("PATH=$PWD/own:$PATH; eval tool", "own/another", False),
        ("eval ./tool", "tool", True),
        ("eval ./tool", "other/tool", False),
    ],
)
def test_a_program_that_was_made_later_is_found(
    tmp_path: Path, line: str, made: str, *, found: bool
) -> None:
    """By its path, or by its name in a folder that the line adds to PATH."""
    (command,) = planned(request(line, cwd=tmp_path)).commands
    assert became_program(command, str(tmp_path), unread=True) == ""

    (tmp_path / made).parent.mkdir(exist_ok=True)
    program = script(tmp_path / made, "#!/bin/sh\n")
    assert became_program(command, str(tmp_path), unread=True) == (str(program) if found else "")

"""Gather what the tables say about a program from its path and from its real path."""

import pytest

from core.programs.program import program_of
from tests.support.plans import pinned


@pytest.mark.parametrize(
    ("path", "realpath", "unknown"),
    [
        ("/usr/bin/grep", "/usr/bin/grep", False),
        ("/usr/bin/grep", "/usr/bin/seeker", False),
        ("/usr/bin/seeker", "/usr/bin/grep", False),
        ("/usr/bin/seeker", "/usr/bin/finder9", True),
    ],
)
def test_a_program_is_unknown_if_no_table_has_either_name(
    path: str, realpath: str, *, unknown: bool
) -> None:
    """A link of the system's own, or to its program, is judged by what is known of the other."""
    program = program_of(path, pinned(path, realpath))

    assert unknown is program.unknown
    assert unknown is program.foreign

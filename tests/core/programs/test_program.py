"""Gather what the tables say about a program from its path and from its real path."""

import pytest

from core.programs.program import program_of
from tests.support.plans import pinned
from tests.support.tables import rows


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


@rows(
    "path, realpath, carrier",
    [
        ("/usr/bin/git", "/usr/bin/git", True),
        ("/usr/bin/git", "/usr/bin/seeker", True),
        ("/usr/bin/seeker", "/usr/bin/git", True),
        ("/usr/bin/seeker", "/usr/bin/finder9", False),
        ("/usr/bin/cat", "/usr/bin/cat", False),
    ],
)
def test_a_program_is_a_carrier_if_either_name_is(
    path: str, realpath: str, *, carrier: bool
) -> None:
    """A link to git is git, whatever it is called: its path alone is never stored."""
    assert program_of(path, pinned(path, realpath)).carrier is carrier

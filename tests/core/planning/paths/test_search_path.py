"""Say what the search path knows about a name that it does not contain."""

import pytest

from core.planning.paths.pins import Unpinned
from core.planning.paths.search_path import SearchPath


@pytest.mark.parametrize(
    ("name", "hinted"), [("git status", True), ("no-such-program", False), ("./git status", False)]
)
def test_a_line_given_as_a_name_is_told_how_to_run(name: str, hinted: bool) -> None:
    """`sayso run 'git status'` names one program; only a name with a blank gets the hint."""
    found = SearchPath().find(name, "/")

    assert isinstance(found, Unpinned)
    assert found.why.endswith("give it as a line (-c)") is hinted

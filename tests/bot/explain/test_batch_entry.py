"""Read a line of a batch strictly."""

import pytest

from bot.explain.batch_entry import entry_of
from core.errors import BadRequest


@pytest.mark.parametrize("argv", ["id", {"id": 1}, ["id", 1], [None], 3])
def test_an_argv_that_is_no_list_of_strings_is_refused(argv: object) -> None:
    """Neither a string, whose items are strings too, nor a list with something else in it."""
    with pytest.raises(BadRequest, match="`argv` must be a list of strings"):
        entry_of({"argv": argv}, "/")
    with pytest.raises(BadRequest, match="`allowlist` must be a list of strings"):
        entry_of({"command": "id", "allowlist": argv}, "/")


def test_a_list_of_strings_is_read() -> None:
    """The control: the same keys, well-formed."""
    read = entry_of({"argv": ["id", "-u"], "allowlist": ["/usr/bin/id"]}, "/")

    assert ("id", "-u") == read.request.argv
    assert ("/usr/bin/id",) == read.allowlist

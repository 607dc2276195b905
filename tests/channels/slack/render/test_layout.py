"""Cut text so that nothing in it changes its meaning."""

import pytest

from channels.slack.render.layout import chunks, cut, tail, weight
from tests.support.tables import rows

_ENDED = "⏎\n"


@pytest.mark.parametrize("mark", [_ENDED, "\\u{202e}", "\\u{1f600}", "\\\\"])
@rows("limit", range(20, 44))
def test_no_cut_is_within_a_mark(mark: str, limit: int) -> None:
    """The sign of a line's end stays with that end, an escape is whole; nothing is lost."""
    text = f"{'x' * 12}{mark}" * 8
    pieces = list(chunks(text, limit))

    assert "".join(pieces) == text
    assert all(weight(piece) <= limit for piece in pieces)
    assert sum(piece.count(mark) for piece in pieces) == 8


def test_a_cut_prefers_a_place_without_blanks() -> None:
    """A client may trim them at the ends of a box."""
    head, rest = cut("word word word word", 10)

    assert (head, rest) == ("word word", " word word") or " " not in head[-1:] + rest[:1]


@rows("limit", range(3, 30))
def test_a_tail_begins_with_a_whole_sign(limit: int) -> None:
    """Rather less than a part of an escape."""
    found = tail("abc\\u{202e}" * 5, limit)

    assert weight(found) <= limit
    assert "\\u{202e}".join(found.split("\\u{202e}")) == found
    assert found.replace("\\u{202e}", "").strip("abc") == ""


@pytest.mark.parametrize("text", ["word word", "x" * 9, "a" * 8 + " "])
def test_what_fits_exactly_is_whole(text: str) -> None:
    """It is not cut at a nicer place; one sign less is."""
    assert cut(text, 9) == (text, "")
    assert cut(text, 8)[1] != ""

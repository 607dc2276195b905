r"""Count and cut text in UTF-16 code units, never inside an escape such as ``\u{202E}``."""

import pytest

from channels.utf16 import chunks, cut, tail, units

FACE = "\U0001f600"
TEXT = f"a{FACE}b\\u{{202E}}c{FACE}"


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), ("aé字", 3), ("\uffff", 1), ("\U00010000", 2), (FACE * 3, 6), ("e\u0301", 2)],
)
def test_units_are_those_of_the_encoding(text: str, count: int) -> None:
    """A character beyond U+FFFF is two."""
    assert units(text) == count == len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("limit", range(8, 20))
def test_pieces_fit_and_are_the_text(limit: int) -> None:
    """Nothing is lost, and no escape is in two of them."""
    pieces = list(chunks(TEXT * 3, limit))
    assert "".join(pieces) == TEXT * 3
    assert all(0 < units(piece) <= limit for piece in pieces)
    assert sum(piece.count("\\u{202E}") for piece in pieces) == 3


def test_what_fits_is_not_cut() -> None:
    """To the last unit."""
    assert cut(FACE * 2, 4) == (FACE * 2, "")
    assert cut(FACE * 2, 3) == (FACE, FACE)


@pytest.mark.parametrize(
    ("limit", "end"),
    [(0, ""), (1, ""), (2, FACE), (3, f"c{FACE}"), (5, f"c{FACE}"), (11, f"\\u{{202E}}c{FACE}")],
)
def test_the_end_begins_with_no_half_of_an_escape(limit: int, end: str) -> None:
    """What would be cut in two is left out."""
    assert tail(TEXT, limit) == end

"""Fit what is drawn for a terminal to its width, and lose nothing."""

import pytest

from channels.terminal.card import wrapped
from tests.support.tables import rows


@rows(
    "text, lines",
    [
        ("", [""]),
        ("x" * 20, ["x" * 20]),
        ("x" * 21, ["x" * 20, "x"]),
        ("a" * 12 + " " + "b" * 7, ["a" * 12 + " " + "b" * 7]),
        ("a" * 12 + " " + "b" * 8, ["a" * 12 + " ", "b" * 8]),
        ("a\n" + "b" * 40, ["a", "b" * 20, "b" * 20]),
        ("\u4e2d" * 11, ["\u4e2d" * 10, "\u4e2d"]),
        ("e\u0301" * 20, ["e\u0301" * 20]),
    ],
)
@pytest.mark.parametrize("width", [20, 3])
def test_a_line_is_broken_behind_its_last_blank(text: str, lines: list[str], width: int) -> None:
    """At exactly the width nothing is broken; a terminal counts as at least 20 columns wide."""
    assert list(wrapped(text, width)) == lines
    assert "".join(lines) == text.replace("\n", "")

"""Fit what is drawn for a terminal to its width, and lose nothing."""

import pytest

from channels.cards.build import build_prompt
from channels.terminal.card import Page, prompt_lines, wrapped
from tests.contracts.channel_examples import approval
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


@pytest.mark.parametrize("width", [40, 60, 80, 107, 200])
def test_how_to_answer_is_read_whole_at_any_width(width: int) -> None:
    """No line is wider than the terminal, which would break it within a word."""
    card = build_prompt(approval())
    lines = list(prompt_lines(card, Page(width)))

    assert max(map(len, lines)) <= width
    answers = " ".join(one.strip() for one in lines[lines.index("│", 5) :] if one[0] in "└ ")
    assert answers == (
        "└─ Type a (allow once), A (allow always) or d (deny), then Enter, "
        f"or /approve {card.code} {card.replies}"
    )

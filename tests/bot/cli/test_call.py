"""Print answers for programs and people."""

import json

import pytest

from bot.cli.call import print_json

_SHOWN = {"plain": "rm -rf build", "umlaut": "ä", "han": "語"}
_HIDDEN = {
    "delete": "a\x7fb",
    "escape": "a\x1b[2Jb",
    "next line": "a\x85b",
    "right to left": "a\u202eb",
    "zero width": "a\u200bb",
}


@pytest.mark.parametrize("indent", [2, None])
@pytest.mark.parametrize("shown", list(_SHOWN))
@pytest.mark.parametrize("hidden", list(_HIDDEN))
def test_what_people_cannot_see_is_escaped(
    capsys: pytest.CaptureFixture[str], shown: str, hidden: str, indent: int | None
) -> None:
    """Whatever stands beside it; a program reads the same value, and letters stay letters."""
    value = {shown: _SHOWN[shown], hidden: _HIDDEN[hidden]}

    assert print_json(value, indent) == 0

    text = capsys.readouterr().out
    assert json.loads(text) == value
    assert all(line.isprintable() for line in text.splitlines())
    assert _SHOWN[shown] in text

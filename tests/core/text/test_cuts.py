"""Mask what a cap has cut as well as the whole."""

import pytest

from core.text.cuts import CUT, after_cut, before_cut
from core.text.secrets import mask

_TOKEN = "ghp_" + "a1B2" * 9
_LINE = "MIIEowIBAAKCAQEAx0Q1YzNhZGY4Nzk4ZjM4"
_FRAME = "-----{} RSA " + "PRIVATE KEY-----"
_KEY = "\n".join((_FRAME.format("BEGIN"), *[_LINE] * 6, "Zz9=", _FRAME.format("END"), ""))
_FLAT = _KEY.replace("\n", "\\n")


@pytest.mark.parametrize(
    ("secret", "parts"),
    [
        (f"TOKEN={_TOKEN}\n", ("a1B2a1B2",)),
        (f"password = {'hunter2' * 3}\n", ("hunter2",)),
        (f"Authorization: Bearer {'q9Z' * 20}\n", ("q9Zq9Z",)),
        (f"get https://u:{'hunter2' * 3}@host/x\n", ("hunter2",)),
        (_KEY, (_LINE, _LINE[20:])),
        (_KEY.replace("\n", "\r\n"), (_LINE, _LINE[20:])),
        (f'{{"key": "{_FLAT}"}}\n', (_LINE, _LINE[20:])),
        (_KEY[: _KEY.index("-----END")], (_LINE, _LINE[20:])),
    ],
)
def test_no_cut_shows_part_of_a_secret(secret: str, parts: tuple[str, ...]) -> None:
    """Wherever it goes through it; what follows later, or came before, is still shown."""
    for place in range(1, len(secret)):
        end = after_cut(f"{secret[place:]}the next line\nthe last")
        assert not any(part in mask(end) for part in parts), (place, end)
        assert end.endswith("the last"), place
        beginning = before_cut(f"the first\n{secret[:place]}{CUT}")
        assert not any(part in mask(beginning) for part in parts), (place, beginning)
        assert beginning.startswith("the first"), place
        assert beginning.endswith(CUT), place


def test_a_cut_costs_one_line() -> None:
    """What a terminal overwrites is one, too."""
    assert after_cut("half a line\nthe rest") == "the rest"
    assert after_cut("50%\r60%\r70%") == "60%\r70%"
    assert before_cut(f"all of it\n{CUT}") == f"all of it\n{CUT}"


def test_a_long_line_is_shown_from_a_blank_on() -> None:
    """No secret has one; a line without one is left out."""
    assert after_cut("word " * 400).startswith(" word")
    assert len(after_cut("word " * 400)) > 900
    assert after_cut("x" * 20_000) == ""

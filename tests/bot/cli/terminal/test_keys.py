"""Test the escape of `sayso terminal`, as in ssh."""

from bot.cli.terminal.keys import Keys
from tests.support.tables import rows


@rows(
    "typed, passed, left",
    [
        (b"ls\r", b"ls\r", False),
        (b"~.", b"", True),
        (b"ls\r~.rm", b"ls\r", True),
        (b"a~.", b"a~.", False),
        (b"~~.", b"~.", False),
        (b"~/x\r", b"~/x\r", False),
        (b"~\r~.", b"~\r", True),
        (b"\x1b[A\x00\xff~", b"\x1b[A\x00\xff~", False),
    ],
)
def test_only_at_the_start_of_a_line(typed: bytes, passed: bytes, left: bool) -> None:
    """In one piece or byte by byte, everything typed is passed on except the escape."""
    whole, single = Keys(), Keys()

    assert whole.take(typed) == passed
    assert b"".join(single.take(typed[at : at + 1]) for at in range(len(typed))) == passed
    assert (whole.left, single.left) == (left, left)


def test_help_is_asked_for_once() -> None:
    """After the help the line still begins."""
    keys = Keys()
    assert keys.take(b"~?") == b""
    assert keys.asked_help
    assert keys.take(b"~.") == b""
    assert keys.left

"""Find the token of a request in its headers."""

from typing import Any

import pytest

from bot.api.access.authentication import token_of
from tests.support.tables import rows

LONGEST = "a" * 512


@rows(
    "sent, token",
    [
        ("Bearer abc", "abc"),
        ("bEARER  abc ", "abc"),
        ("Bearer a b", "a b"),
        (f"Bearer {LONGEST}", LONGEST),
        (f"Bearer {LONGEST}a", None),
        ("Bearer ", None),
        ("Bearer \xe4", None),
        ("Bearer a\tb", None),
        ("Bearer a\x7f", None),
        ("Basic abc", None),
        ("Bearerabc", None),
        ("", None),
    ],
)
def test_the_token_of_a_header(sent: str, token: str | None) -> None:
    """One of printable ASCII and a sane length; anything else is as good as none."""
    assert token_of({"headers": [(b"authorization", sent.encode("latin-1"))]}) == token


@pytest.mark.parametrize(
    ("offered", "token"),
    [
        (["sayso.v1", "bearer.abc"], "abc"),
        (["bearer.abc", "bearer.d"], "abc"),
        (["bearer."], None),
        (["bearer.\xe4"], None),
        ([f"bearer.{LONGEST}a"], None),
        (["sayso.v1"], None),
        ([], None),
    ],
)
def test_the_token_of_a_browser(offered: list[str], token: str | None) -> None:
    """It can set no header of a WebSocket, so it offers the token as a protocol; a header wins."""
    scope: dict[str, Any] = {"headers": [], "subprotocols": offered}
    headed = {**scope, "headers": [(b"authorization", b"Bearer x")]}

    assert token_of(scope) == token
    assert token_of(headed) == "x"

"""Expand braces in the second reader as bash does, or not at all."""

import subprocess

from core.shell.posix_braces import spread
from tests.support.tables import rows

CERTAIN = (
    *("a", "{a,b}", "x{a,b}y", "{a,b}{c,d}", "{1..3}", "{3..1}", "{01..10}", "{10..08}", "{0..2}"),
    *("{00..02}", "{-,+}", "x{a,b}'{c}'", "{100..102}", "'{a,b}'", '"{a,b}"'),
)


@rows("token", CERTAIN)
def test_what_is_spread_is_what_bash_makes(token: str) -> None:
    """The words, their order and their leading zeros."""
    made = subprocess.run(
        ["bash", "-c", f"printf '%s\\n' {token}"], capture_output=True, text=True, check=True
    )
    words = [word.replace("'", "").replace('"', "") for word in spread(token)]
    assert words == made.stdout.splitlines()


@rows(
    "token",
    [
        *("{a}", "{a,b", "a,b}", "{a,{b,c}}", "{1..2,3}", "{a..c}", "{1..101}", "{01..5}"),
        *("{1..5..2}", "{,}}", "{a,b}}", "{$x,b}", "{1..}", "{..1}", "{00001..2}"),
        *("{a,b}" * 3_000, "{1..1}" * 3_000),
    ],
)
def test_what_is_not_certain_is_left(token: str) -> None:
    """Nested lists, steps, letters, unequal widths, and more than a hundred words."""
    assert spread(token) == []

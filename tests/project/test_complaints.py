"""Each complaint of other tools' users has a test here, or a reason why not."""

import re
from pathlib import Path

PAGE = Path("docs/explanation/complaints.md").read_text()
TESTS = frozenset(
    name
    for path in Path("tests").rglob("*.py")
    for name in re.findall(r"def (test_\w+)", path.read_text())
)
_PEERS, _REFERENCE = 38, 25


def rows() -> list[tuple[int, str, str]]:
    """Return number, what happens here, and the named test of each row."""
    found = re.findall(
        r"^\| (\d+) \| [^|]+ \| ([^|]+) \| ?`?([a-z0-9_]*)`? ?\|$", PAGE, re.MULTILINE
    )
    return [(int(number), here, test) for number, here, test in found]


def test_every_complaint_is_answered() -> None:
    """No number of either list is left out."""
    numbers = [number for number, _, _ in rows()]

    assert [*range(1, _PEERS + 1), *range(1, _REFERENCE + 1)] == numbers


def test_every_named_test_exists() -> None:
    """No complaint is answered by a test that is gone."""
    assert [] == [test for _, _, test in rows() if test and test not in TESTS]


def test_a_row_without_a_test_says_why() -> None:
    """If no test is named, the row says what applies instead."""
    assert [] == [here for _, here, test in rows() if not test and len(here) < len("not built: x")]

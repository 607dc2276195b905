"""Each exception of a docstring begins a line of its own, where a reader looks for it."""

import builtins
import re
from collections.abc import Iterator
from pathlib import Path

from core import errors

ROOT = Path(__file__).parents[2]
_SECTION = re.compile(r'Raises:\n(.*?)(?:\n\n|""")', re.DOTALL)
_ENTRY = re.compile(r"[.;]\s+(?P<name>[A-Z]\w+):\s")
_KNOWN = {name for where in (errors, builtins) for name in vars(where)}


def swallowed(text: str) -> Iterator[str]:
    """Yield the exceptions that begin within the description of another one."""
    for section in _SECTION.finditer(text):
        for found in _ENTRY.finditer(section[1]):
            begins = section[1].rfind("\n", 0, found.start("name")) + 1
            before = section[1][begins : found.start("name")]
            if found["name"] in _KNOWN and before.strip():
                yield found["name"]


def test_no_exception_is_hidden_in_another_ones_text() -> None:
    """In the product; a tool that wraps docstrings joins two entries into one paragraph."""
    files = [one for top in ("core", "bot", "channels") for one in (ROOT / top).rglob("*.py")]
    found = {
        f"{file.relative_to(ROOT)}: {name}"
        for file in files
        for name in swallowed(file.read_text(encoding="utf-8"))
    }
    assert found == set(), "begin a line with each, below `Raises:` of that docstring"


def test_a_hidden_one_is_found() -> None:
    """The control: within a line, and at its end; and two that are as they should be."""
    text = 'Raises:\n    BadRequest: no. StateError: odd.\n    NotFound: x. Stopping:\n    x.\n"""'
    good = 'Raises:\n    BadRequest: wrong.\n    StateError: odd.\n"""'

    assert list(swallowed(text)) == ["StateError", "Stopping"]
    assert list(swallowed(good)) == []

"""Read the fenced blocks of a page: what a user would type, copy or save.

A block that is not run has its reason in a comment above it, and one that a dedicated test runs
names that test; a comment on the whole page applies to each of its blocks without a reason::

    <!-- not run: needs systemd -->
    <!-- run by tests/e2e/test_demo.py -->
    <!-- this page is run by tests/e2e/test_another_user.py -->

Blocks without a language, and ``text`` and ``mermaid``, are pictures or output: nothing to run.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SHOWN = frozenset({"", "text", "mermaid"})
"""Languages of blocks that only show something."""
_FENCE = re.compile(r"^( *)```(\w*)\s*$")
_REASON = re.compile(r"^ *<!-- not run: (.+) -->$")
_OTHER = re.compile(r"^ *<!-- run by (\S+) -->$")
_PAGE = re.compile(r"^<!-- this page is run by (\S+) -->$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Block:
    """A block, where its text begins, and why it is not run or which test runs it, if so."""

    line: int
    text: str
    language: str = "sh"
    reason: str = ""
    test: str = ""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of a page that can be run or checked, in order."""
    return [one for one in _all(page) if one.language not in SHOWN]


def shown(page: Path) -> list[Block]:
    """Return the blocks of a page that only show something."""
    return [one for one in _all(page) if one.language in SHOWN]


def _all(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    whole = _PAGE.search(text)
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = _FENCE.match(lines[number])
        if fence is not None:
            end = next(n for n in range(number + 1, len(lines)) if lines[n].strip() == "```")
            body = "\n".join(line.removeprefix(fence[1]) for line in lines[number + 1 : end])
            reason, test = _marks(lines[:number])
            test = test or (whole[1] if whole and not reason else "")
            yield Block(number + 2, body, fence[2], reason, test)
            number = end
        number += 1


def _marks(above: list[str]) -> tuple[str, str]:
    """Return the reason and the test in the comment right above a block."""
    last = next((line for line in reversed(above) if line.strip()), "")
    reason, test = _REASON.match(last), _OTHER.match(last)
    return reason[1] if reason else "", test[1] if test else ""


def pages() -> list[Path]:
    """Return the pages for users and contributors, new ones included."""
    top = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")]
    return [*top, *sorted((ROOT / "docs").rglob("*.md"))]

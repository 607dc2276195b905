"""Expand the brace lists and ranges of a word of the tree reader, as bash and zsh do.

What comes out is again text as it was written: bash, too, expands braces before everything else.
dash knows no braces; what runs is the expanded vector that is judged and shown, so bash's meaning
holds.
"""

import re
from itertools import product

MOST_WORDS = 100
"""Words that one word may become."""

_ITEM = r"(?:[A-Za-z0-9_/:@%+-]|\.(?!\.))*"
_ATOM = re.compile(
    r"'[^']*'"
    r'|"(?:[^"\\]|\\.)*"'
    r"|\\."
    rf"|\{{(?P<items>{_ITEM}(?:,{_ITEM})+)\}}"
    r"|\{(?P<first>[0-9]{1,4})\.\.(?P<last>[0-9]{1,4})\}"
    r"|[^'\"\\{}]+"
    r"|(?P<stray>.)",
    re.DOTALL,
)


def braced(raw: str) -> list[str] | None:
    """Return the words that ``raw`` expands to, ``None`` where its braces are not certain."""
    choices: list[list[str]] = []
    for found in _ATOM.finditer(raw):
        kind = found.lastgroup
        if kind is None:
            choices.append([found[0]])
        elif kind == "items":
            choices.append(found["items"].split(","))
        elif kind == "stray" or not (numbers := _numbers(found["first"], found["last"])):
            return None
        else:
            choices.append(numbers)
    size = 1
    for choice in choices:
        size *= len(choice)
    if size == 1 or size > MOST_WORDS:
        return None
    return ["".join(pieces) for pieces in product(*choices)]


def _numbers(first: str, last: str) -> list[str]:
    """Return a range; nothing where it is too long or one end alone has leading zeros."""
    padded = any(len(end) > 1 and end[0] == "0" for end in (first, last))
    if padded and len(first) != len(last):
        return []
    low, high = int(first), int(last)
    if abs(high - low) >= MOST_WORDS:
        return []
    step = 1 if low <= high else -1
    return [str(n).zfill(len(first) if padded else 1) for n in range(low, high + step, step)]

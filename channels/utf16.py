r"""Count and cut text as Telegram and Discord count it: in UTF-16 code units.

A character beyond U+FFFF is two. A cut never falls inside an escape such as ``\u{202E}``: half of
one would mean something else.
"""

import re
from collections.abc import Iterator

_OPEN_ESCAPE = re.compile(r"\\(?:u(?:\{[^}]*)?)?\Z")
_LONGEST_ESCAPE = 12


def units(text: str) -> int:
    """Count UTF-16 code units."""
    return len(text) + sum(character > "\uffff" for character in text)


def cut(text: str, limit: int) -> tuple[str, str]:
    """Split so that the head has at most ``limit`` units, never inside an escape."""
    if len(text) <= limit and units(text) <= limit:
        return text, ""
    head = text[:limit]
    while units(head) > limit:
        head = head[: -max(1, (units(head) - limit) // 2)]
    opened = _OPEN_ESCAPE.search(head, max(0, len(head) - _LONGEST_ESCAPE))
    if opened and opened.start() > 0:
        head = head[: opened.start()]
    return head, text[len(head) :]


def chunks(text: str, limit: int) -> Iterator[str]:
    """Cut text into pieces of at most ``limit`` units; joined they are ``text``."""
    while text:
        head, text = cut(text, limit)
        yield head


def tail(text: str, limit: int) -> str:
    """Return the end of a text, at most ``limit`` units, never beginning inside an escape."""
    if limit <= 0:
        return ""
    end = text[-limit:]
    while units(end) > limit:
        end = end[1:]
    opened = _OPEN_ESCAPE.search(text[: len(text) - len(end)][-_LONGEST_ESCAPE:])
    return end.partition("}")[2] if opened and "}" in end[:_LONGEST_ESCAPE] else end

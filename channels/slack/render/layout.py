"""Cut and count text as Slack does, and put it into blocks in which nothing is markup.

``plain_text`` objects and ``rich_text_preformatted`` elements are shown as they are: no mentions,
links, emoji or styles (docs.slack.dev, "Text object", "Rich text block"). All untrusted text is in
one of the two; ``mrkdwn`` objects are never created.
"""

import json
import re
from collections.abc import Iterator

Json = dict[str, object]
"""A JSON object of the Web API."""

MAX_BLOCKS = 50
MAX_MESSAGE = 9_500
"""Maximum weight of all blocks of a message.

Slack refuses messages whose blocks come to about 13,200 characters with ``msg_blocks_too_long``,
which it does not document and which reportedly counts containers, too (slackapi/bolt-js #2509,
#2867).
"""

_BOX = 2_900
_OPEN_ESCAPE = re.compile(r"\\(?:u(?:\{[^}]*)?)?\Z")
_LONGEST_ESCAPE = 12
_LOOK_BACK = 64
_LINE_MARK = "\u23ce"


def weight(text: str) -> int:
    """Return the most that a text can weigh: JSON in ASCII, ``& < >`` as Slack's entities."""
    return len(json.dumps(text)) - 2 + _entities(text)


def size(blocks: list[Json]) -> int:
    """Return the total weight of blocks, including containers."""
    written = json.dumps(blocks)
    return len(written) + _entities(written)


def cut(text: str, limit: int) -> tuple[str, str]:
    """Split so that the head weighs at most ``limit``: never in an escape, rarely at a blank."""
    if len(text) <= limit and weight(text) <= limit:
        return text, ""
    end = min(limit, len(text))
    while weight(text[:end]) > limit:
        end -= max(1, (weight(text[:end]) - limit) // 12)
    end = next(_places(text, end), end)
    return text[:end], text[end:]


def chunks(text: str, limit: int) -> Iterator[str]:
    """Cut text into pieces that weigh at most ``limit``; joined they are ``text``."""
    while text:
        head, text = cut(text, limit)
        yield head


def tail(text: str, limit: int) -> str:
    """Return the end of a text that weighs at most ``limit``, never starting in an escape."""
    start = max(0, len(text) - limit)
    while weight(text[start:]) > limit:
        start += max(1, (weight(text[start:]) - limit) // 12)
    opened = _OPEN_ESCAPE.search(text[max(0, start - _LONGEST_ESCAPE) : start])
    closed = text.find("}", start, start + _LONGEST_ESCAPE)
    return text[closed + 1 :] if opened and closed >= 0 else text[start:]


def plain(text: str) -> Json:
    """Return a text object that shows text as it is."""
    return {"type": "plain_text", "text": text, "emoji": False}


def header(text: str) -> Json:
    """Return a headline of our own text."""
    return {"type": "header", "text": plain(text)}


def section(text: str) -> Json:
    """Return a paragraph."""
    return {"type": "section", "text": plain(text)}


def link(url: str, words: str) -> Json:
    """Return a paragraph that is one of our own links."""
    shown = {"type": "link", "url": url, "text": words}
    part = {"type": "rich_text_section", "elements": [shown]}
    return {"type": "rich_text", "elements": [part]}


def sections(text: str) -> list[Json]:
    """Return text of any length as paragraphs."""
    return [section(part) for part in chunks(text, _BOX)]


def box(text: str) -> Json:
    """Return a monospaced box."""
    words = {"type": "text", "text": text}
    inside: Json = {"type": "rich_text_preformatted", "elements": [words]}
    return {"type": "rich_text", "elements": [inside]}


def boxes(text: str) -> list[Json]:
    """Return text of any length as monospaced boxes; joined they are ``text``."""
    return [box(part) for part in chunks(text, _BOX)]


def context(text: str) -> Json:
    """Return a line in small print."""
    return {"type": "context", "elements": [plain(text)]}


def _entities(text: str) -> int:
    return 4 * text.count("&") + 3 * (text.count("<") + text.count(">"))


def _places(text: str, end: int) -> Iterator[int]:
    # A client may trim the ends of a box, so a cut prefers to have no blank at either side.
    usable = [at for at in range(end, max(end - _LOOK_BACK, 1), -1) if not _in_mark(text, at)]
    yield from (at for at in usable if " " not in text[at - 1 : at + 1])
    yield from usable


def _in_mark(text: str, at: int) -> bool:
    if text[at - 1 : at + 1] == f"{_LINE_MARK}\n":
        return True
    opened = _OPEN_ESCAPE.search(text[max(0, at - _LONGEST_ESCAPE) : at])
    return opened is not None

"""Format text as Discord shows it, counted as Discord counts in the worst case.

There is no way to send plain text: Discord parses Markdown in every message. So whatever is not our
own text is in a code block, where nothing is a link, mention, spoiler, timestamp or heading, and no
run of backticks inside can end the block. Lengths are UTF-16 code units, as the clients count; the
API counts no more than that.
"""

import re

MAX_UNITS = 2000
"""Units of a message's content (Discord API, "Create Message")."""

FENCE_UNITS = len("```\n\n```\n")
"""The units that a code block adds to its text."""

_CLOSING = re.compile(r"`{3,}")
_BACKTICK = "\\u{0060}"
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 .,:;!?'()-]*")


def unbroken(text: str) -> str:
    r"""Escape backticks that would end a code block as ``\u{0060}``, the mark of every escape.

    A literal ``\u{`` in a command is itself escaped (``core.text.render``), so the mark
    cannot be forged.
    """
    return _CLOSING.sub(lambda run: _BACKTICK * len(run[0]), text)


def block(text: str) -> str:
    """Return a code block and a line feed; ``text`` is ``unbroken`` and not empty."""
    # The line feed after the fence keeps a first word from being taken for a language.
    return f"```\n{text}\n```\n"


def sentence(text: str) -> str:
    """Return text unchanged if it may appear outside a code block, else in one.

    ``text`` is ``unbroken``.
    """
    return text if _PLAIN.fullmatch(text) else block(text).rstrip()

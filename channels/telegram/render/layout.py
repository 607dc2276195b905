"""Build message text with explicit entities, counted as Telegram counts.

There is no parse mode, so nothing in a command can be markup. Offsets and lengths are UTF-16 code
units (Bot API, "Formatting options"), which is two for each character beyond U+FFFF. Inside
``code`` and ``pre`` Telegram makes no links, mentions or tappable commands, so every value is
in one.
"""

from dataclasses import dataclass, field
from typing import Self

from telegram import MessageEntity
from telegram.constants import MessageEntityType

from channels.utf16 import units

MAX_UNITS = 4096
"""UTF-16 units of one message (Bot API sendMessage)."""
MAX_ENTITIES = 100
"""Entities of one message; Telegram drops or refuses more."""


@dataclass(slots=True)
class Layout:
    """A message under construction."""

    text: str = ""
    entities: list[MessageEntity] = field(default_factory=list)
    _units: int = 0

    def plain(self, text: str) -> Self:
        """Add our own text."""
        self.text += text
        self._units += units(text)
        return self

    def bold(self, text: str) -> Self:
        """Add our own text in bold."""
        return self._styled(MessageEntityType.BOLD, text)

    def value(self, text: str) -> Self:
        """Add a value: monospaced, and nothing in it is a link, mention or command."""
        kind = MessageEntityType.PRE if "\n" in text else MessageEntityType.CODE
        return self._styled(kind, text)

    def block(self, text: str) -> Self:
        """Add a separate block, monospaced."""
        return self._styled(MessageEntityType.PRE, text)

    def fold(self, inside: Self) -> Self:
        """Add a quotation that clients show folded, keeping the styles inside it."""
        if not inside.text:
            return self
        kind = MessageEntityType.EXPANDABLE_BLOCKQUOTE
        self.entities.append(MessageEntity(kind, self._units, inside._units))
        self.entities += [
            MessageEntity(one.type, self._units + one.offset, one.length) for one in inside.entities
        ]
        return self.plain(inside.text)

    def _styled(self, kind: MessageEntityType, text: str) -> Self:
        # The platform refuses an entity of length zero.
        if text:
            self.entities.append(MessageEntity(kind, self._units, units(text)))
        return self.plain(text)

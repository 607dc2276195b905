"""Refuse what the Bot API refuses, and find what Telegram clients make tappable."""

import json
import re
from typing import Any

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_CALLBACK_DATA = 64
MAX_ANSWER = 200
MAX_ENTITIES = 100

_MONOSPACED = frozenset({"code", "pre"})
_KNOWN = _MONOSPACED | {"bold", "italic", "underline", "strikethrough", "spoiler", "text_link"}
_TAPPABLE = re.compile(
    r"(?P<url>https?://\S+|\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|gg|example)\b\S*)"
    r"|(?P<mention>(?<!\w)@\w{3,32})"
    r"|(?P<bot_command>(?<![\w/])/[a-zA-Z]\w{0,31})"
    r"|(?P<hashtag>(?<!\w)#\w+)"
)


class Refusal(Exception):
    """An answer with ``ok: false``."""

    def __init__(self, code: int, description: str, retry_after: int = 0) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.retry_after = retry_after


def bad(description: str) -> Refusal:
    """Return a refusal with status 400."""
    return Refusal(400, f"Bad Request: {description}")


def utf16(text: str) -> int:
    """Count UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def check_text(text: str, limit: int = MAX_TEXT) -> None:
    """Refuse empty and over-long text; lone surrogates cannot even be sent."""
    if not text.strip():
        raise bad("message text is empty")
    if utf16(text) > limit:
        raise bad("message is too long")


def check_entities(text: str, raw: str) -> list[dict[str, Any]]:
    """Parse entities and refuse those outside the text or inside a character."""
    entities: list[dict[str, Any]] = json.loads(raw) if raw else []
    if len(entities) > MAX_ENTITIES:
        raise bad("too many entities")
    encoded = text.encode("utf-16-le")
    for entity in entities:
        start, length = entity["offset"], entity["length"]
        if entity["type"] not in _KNOWN:
            raise bad(f"can't parse entities: unsupported type {entity['type']}")
        if start < 0 or length < 1 or start + length > utf16(text):
            raise bad("ENTITY_BOUNDS_INVALID")
        part = encoded[2 * start : 2 * (start + length)]
        try:
            part.decode("utf-16-le")
        except UnicodeDecodeError:
            raise bad("entity cuts a character in two") from None
    return entities


def entity_text(text: str, entity: dict[str, Any]) -> str:
    """Return what an entity covers."""
    encoded = text.encode("utf-16-le")
    start = 2 * int(entity["offset"])
    return encoded[start : start + 2 * int(entity["length"])].decode("utf-16-le")


def check_markup(raw: str) -> dict[str, Any] | None:
    """Parse an inline keyboard and refuse data that is too long."""
    if not raw:
        return None
    markup: dict[str, Any] = json.loads(raw)
    for row in markup["inline_keyboard"]:
        for button in row:
            data = button.get("callback_data", "").encode()
            if not 1 <= len(data) <= MAX_CALLBACK_DATA:
                raise bad("BUTTON_DATA_INVALID")
            if not button["text"]:
                raise bad("text buttons must be non-empty")
    return markup


def tappable(text: str, entities: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return what a client turns into links, mentions and commands: all outside code and pre."""
    blanked = bytearray(text.encode("utf-16-le"))
    for entity in entities:
        if entity["type"] in _MONOSPACED:
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            blanked[start:end] = ("\0" * entity["length"]).encode("utf-16-le")
    visible = blanked.decode("utf-16-le")
    return [(str(found.lastgroup), found[0]) for found in _TAPPABLE.finditer(visible)]

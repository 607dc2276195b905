"""Refuse what the Bot API refuses, and find what Telegram clients make tappable."""

import json
import re
from itertools import combinations
from typing import Any
from urllib.parse import urlsplit

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_CALLBACK_DATA = 64
MAX_ANSWER = 200
MAX_ENTITIES = 100
MAX_BUTTONS = 100
MAX_PER_ROW = 8
MAX_TOPIC_NAME = 128
WEBHOOK_PORTS = (443, 80, 88, 8443)

MAX_COMMANDS = 100
MAX_DESCRIPTION = 256

_COMMAND_NAME = re.compile(r"[a-z0-9_]{1,32}")
_SECRET_TOKEN = re.compile(r"[A-Za-z0-9_-]{1,256}")
_MONOSPACED = frozenset({"code", "pre"})
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_NESTING = frozenset({"bold", "italic", "underline", "strikethrough", "spoiler"})
_KNOWN = _MONOSPACED | _QUOTES | _NESTING | {"text_link"}
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
    _check_nesting(entities)
    return entities


def _check_nesting(entities: list[dict[str, Any]]) -> None:
    for one, other in combinations(entities, 2):
        if _overlap(one, other) and not _may_nest(one, other):
            raise bad(f"can't parse entities: {one['type']} meets {other['type']}")


def _overlap(one: dict[str, Any], other: dict[str, Any]) -> bool:
    start = max(one["offset"], other["offset"])
    return bool(start < min(one["offset"] + one["length"], other["offset"] + other["length"]))


def _may_nest(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether two entities may share characters (Bot API, "Formatting options")."""
    outer, inner = sorted((one, other), key=lambda each: (each["offset"], -each["length"]))
    within = inner["offset"] + inner["length"] <= outer["offset"] + outer["length"]
    kinds = {outer["type"], inner["type"]}
    if not within or outer["type"] in _MONOSPACED or kinds <= _QUOTES:
        return False
    if outer["type"] in _QUOTES:
        return True
    return outer["type"] in _NESTING and inner["type"] not in _MONOSPACED


def entity_text(text: str, entity: dict[str, Any]) -> str:
    """Return the text that an entity covers."""
    encoded = text.encode("utf-16-le")
    start = 2 * int(entity["offset"])
    return encoded[start : start + 2 * int(entity["length"])].decode("utf-16-le")


def check_markup(raw: str) -> dict[str, Any] | None:
    """Parse an inline keyboard and refuse data that is too long."""
    if not raw:
        return None
    markup: dict[str, Any] = json.loads(raw)
    rows = markup["inline_keyboard"]
    if sum(len(row) for row in rows) > MAX_BUTTONS or any(len(row) > MAX_PER_ROW for row in rows):
        raise bad("REPLY_MARKUP_TOO_LONG")
    for row in rows:
        for button in row:
            if "url" in button:
                _check_url(button)
                continue
            data = button.get("callback_data", "").encode()
            if not 1 <= len(data) <= MAX_CALLBACK_DATA:
                raise bad("BUTTON_DATA_INVALID")
            if not button["text"]:
                raise bad("text buttons must be non-empty")
    return markup


def _check_url(button: dict[str, Any]) -> None:
    parts = urlsplit(button["url"])
    if "callback_data" in button or parts.scheme not in {"http", "https"} or not parts.hostname:
        raise bad("BUTTON_URL_INVALID")
    if parts.hostname == "localhost" or not button["text"]:
        raise bad("BUTTON_URL_INVALID")


def check_topic_name(name: str) -> str:
    """Refuse an empty or over-long topic title."""
    if not 1 <= len(name) <= MAX_TOPIC_NAME:
        raise bad("TOPIC_NAME_INVALID")
    return name


def check_commands(raw: str) -> list[dict[str, Any]]:
    """Parse the menu of commands and refuse odd names and over-long descriptions."""
    commands: list[dict[str, Any]] = json.loads(raw)
    if len(commands) > MAX_COMMANDS:
        raise bad("BOT_COMMANDS_TOO_MUCH")
    for command in commands:
        if not _COMMAND_NAME.fullmatch(command["command"]):
            raise bad("BOT_COMMAND_INVALID")
        if not 1 <= len(command["description"]) <= MAX_DESCRIPTION:
            raise bad("BOT_COMMAND_DESCRIPTION_INVALID")
    return commands


def check_webhook(url: str, secret: str, *, local: bool) -> None:
    """Refuse what cannot be a webhook; a ``local`` server takes any http address."""
    parts = urlsplit(url)
    if not parts.hostname or (parts.scheme != "https" and not local):
        raise bad("bad webhook: An HTTPS URL must be provided for webhook")
    if not local and (parts.port or 443) not in WEBHOOK_PORTS:
        raise bad("bad webhook: Webhook can be set up only on ports 80, 88, 443 or 8443")
    if secret and not _SECRET_TOKEN.fullmatch(secret):
        raise bad("secret token contains unallowed characters")


def tappable(text: str, entities: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Return what a client turns into links, mentions and commands, outside code and pre."""
    blanked = bytearray(text.encode("utf-16-le"))
    for entity in entities:
        if entity["type"] in _MONOSPACED:
            start, end = 2 * entity["offset"], 2 * (entity["offset"] + entity["length"])
            blanked[start:end] = ("\0" * entity["length"]).encode("utf-16-le")
    visible = blanked.decode("utf-16-le")
    return [(str(found.lastgroup), found[0]) for found in _TAPPABLE.finditer(visible)]

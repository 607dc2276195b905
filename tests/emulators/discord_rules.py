"""Refuse what Discord refuses, and find what its clients render in a message's text."""

import re
from typing import Any

MAX_CONTENT = 2000
MAX_LABEL = 80
MAX_CUSTOM_ID = 100
MAX_NONCE = 25
MAX_ROWS = 5
MAX_BUTTONS = 5
MAX_EMBED_SUM = 6000
MAX_COMMANDS = 100
MAX_OPTIONS = 25
MAX_OPTION_LENGTH = 6000
MAX_THREAD_NAME = 100
SUPPRESS_EMBEDS = 1 << 2
EPHEMERAL = 1 << 6
_SETTABLE = SUPPRESS_EMBEDS | EPHEMERAL | 1 << 12
_NAME = re.compile(r"[-_a-z0-9]{1,32}")
_CREATE = frozenset(
    ("content", "nonce", "enforce_nonce", "tts", "flags", "allowed_mentions", "components")
) | {"attachments", "message_reference", "embeds"}
# The library sends ``tts`` in edits too, and Discord ignores it.
_EDIT = frozenset(
    ("content", "flags", "allowed_mentions", "components", "attachments", "embeds", "tts")
)

_STRING, _INTEGER = 3, 4
_OPTION = frozenset(
    ("type", "name", "description", "required", "choices", "min_length", "max_length")
) | {"min_value", "max_value"}

_CODE = re.compile(
    r"```(?:[a-z0-9_+\-.#]+?\n)?\n*([^\n][\s\S]*?)\n*```|(?<!`)(`+)(?!`)([\s\S]+?)(?<!`)\2(?!`)"
)
_MARKUP = {
    "mention": re.compile(r"<(?:@[!&]?|#)\d+>|@everyone|@here"),
    "masked link": re.compile(r"\[[^\]]+\]\([^)]+\)"),
    "link": re.compile(r"(?:https?://|discord\.gg/)\S+"),
    "spoiler": re.compile(r"\|\|[\s\S]+?\|\|"),
    "timestamp": re.compile(r"<t:-?\d+(?::[tTdDfFR])?>"),
    "command": re.compile(r"</[-\w ]+:\d+>"),
    "heading": re.compile(r"^(?:#{1,3}|-#) ", re.MULTILINE),
    "quote": re.compile(r"^>{1,3} ", re.MULTILINE),
    "strike": re.compile(r"~~[\s\S]+?~~"),
    "emoji": re.compile(r"<a?:\w+:\d+>"),
}


class Refusal(Exception):
    """An error answer: HTTP status, Discord's code, message."""

    def __init__(self, status: int, code: int, words: str, retry_after: float = 0.0) -> None:
        super().__init__(words)
        self.status = status
        self.code = code
        self.words = words
        self.retry_after = retry_after
        self.errors: dict[str, Any] = {}


def invalid(field: str, words: str) -> Refusal:
    """Return the refusal of one field (50035)."""
    refusal = Refusal(400, 50035, "Invalid Form Body")
    refusal.errors = {field: {"_errors": [{"code": "INVALID", "message": words}]}}
    return refusal


def utf16(text: str) -> int:
    """Count UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def check_message(body: dict[str, Any], files: int, *, editing: bool = False) -> None:
    """Refuse a body that Discord would refuse, and unknown fields to catch mistakes."""
    unknown = body.keys() - (_EDIT if editing else _CREATE)
    if unknown:
        raise invalid(min(unknown), "unknown field")
    content = body.get("content") or ""
    if not isinstance(content, str) or utf16(content) > MAX_CONTENT:
        raise invalid("content", f"Must be {MAX_CONTENT} or fewer in length.")
    if not editing and not content.strip() and not files and not body.get("embeds"):
        raise Refusal(400, 50006, "Cannot send an empty message")
    if body.get("flags", 0) & ~_SETTABLE:
        raise invalid("flags", "Value is not allowed")
    _check_extras(body, files)
    check_components(body.get("components") or [])


def _check_extras(body: dict[str, Any], files: int) -> None:
    if len(str(body.get("nonce", ""))) > MAX_NONCE:
        raise invalid("nonce", f"Must be {MAX_NONCE} or fewer in length.")
    if set(body.get("allowed_mentions", {}).get("parse", [])) - {"roles", "users", "everyone"}:
        raise invalid("allowed_mentions", "Value must be one of roles, users, everyone")
    if len(body.get("attachments", [])) < files:
        raise invalid("attachments", "a file without an attachment")
    embeds = sum(utf16(str(embed.get("description", ""))) for embed in body.get("embeds") or [])
    if embeds > MAX_EMBED_SUM:
        raise invalid("embeds", f"Embed size exceeds maximum size of {MAX_EMBED_SUM}")


_LINK, _MAX_URL = 5, 512
"""A button that opens a page (Discord API, "Button Styles")."""


def check_components(rows: list[dict[str, Any]]) -> None:
    """Refuse rows and buttons that are too many, too long, unnamed or identical."""
    if len(rows) > MAX_ROWS:
        raise invalid("components", f"Must be {MAX_ROWS} or fewer in length.")
    seen: set[str] = set()
    for row in rows:
        if row["type"] != 1 or not 1 <= len(row["components"]) <= MAX_BUTTONS:
            raise invalid("components", "must be rows of 1 to 5 buttons")
        for button in row["components"]:
            _check_button(button)
            if button["style"] == _LINK:
                continue
            if button["custom_id"] in seen:
                raise invalid("components", "Component custom id cannot be duplicated")
            seen.add(button["custom_id"])


def _check_button(button: dict[str, Any]) -> None:
    if button["type"] == 2 and button["style"] == _LINK:
        if "custom_id" in button or not 1 <= len(button["url"]) <= _MAX_URL:
            raise invalid("components", "a link button has a url and no custom_id")
        return
    if button["type"] != 2 or button["style"] not in range(1, 5):
        raise invalid("components", "not a button with a custom id")
    if not 1 <= utf16(button.get("label") or "") <= MAX_LABEL:
        raise invalid("components", f"label: must be between 1 and {MAX_LABEL} in length.")
    if not 1 <= len(button["custom_id"]) <= MAX_CUSTOM_ID:
        raise invalid("components", f"custom_id: must be between 1 and {MAX_CUSTOM_ID} in length.")


def check_commands(commands: list[dict[str, Any]]) -> None:
    """Refuse application commands that Discord would refuse."""
    names = [command["name"] for command in commands]
    if len(names) > MAX_COMMANDS or len(set(names)) < len(names):
        raise invalid("name", "too many commands, or two of one name")
    for command in commands:
        options = command.get("options", [])
        for one in (command, *options):
            if not _NAME.fullmatch(one["name"]) or not 1 <= len(one["description"]) <= 100:
                raise invalid(one["name"], "name or description of the wrong shape")
        required = [bool(option.get("required")) for option in options]
        if len(options) > MAX_OPTIONS or required != sorted(required, reverse=True):
            raise invalid(command["name"], "Required options must be placed before non-required")
        if set(command.get("contexts", ())) - {0, 1, 2}:
            raise invalid(command["name"], "Value must be one of 0, 1, 2")
        for option in options:
            _check_option(option)


def _check_option(option: dict[str, Any]) -> None:
    name, kind = option["name"], option["type"]
    unknown = option.keys() - _OPTION
    if unknown or kind not in (_STRING, _INTEGER):
        raise invalid(name, f"unknown type or field {unknown}")
    choices = option.get("choices", [])
    if len(choices) > MAX_OPTIONS or not all(1 <= len(one["name"]) <= 100 for one in choices):
        raise invalid(name, "choices: too many, or a name of the wrong length")
    bounds = {"min_length", "max_length"} if kind == _INTEGER else {"min_value", "max_value"}
    if option.keys() & bounds or not 0 <= option.get("max_length", 1) <= MAX_OPTION_LENGTH:
        raise invalid(name, "bounds of another type, or too far")


def check_given(command: dict[str, Any], given: dict[str, str]) -> None:
    """Refuse what a client would not let a person send with a command."""
    known = {option["name"]: option for option in command.get("options", [])}
    missing = {name for name, option in known.items() if option.get("required")} - given.keys()
    if missing or given.keys() - known.keys():
        raise invalid(command["name"], f"missing {missing}, or fields that it has not")
    for name, value in given.items():
        choices = [one["value"] for one in known[name].get("choices", [])]
        if choices and value not in choices:
            raise invalid(name, f"Value must be one of {choices}")
        if len(str(value)) > known[name].get("max_length", MAX_OPTION_LENGTH):
            raise invalid(name, "too long")


def check_thread(body: dict[str, Any]) -> None:
    """Refuse a thread that Discord would refuse."""
    if not 1 <= utf16(str(body.get("name", ""))) <= MAX_THREAD_NAME:
        raise invalid("name", f"Must be between 1 and {MAX_THREAD_NAME} in length.")
    if body.get("type") not in (10, 11, 12):
        raise invalid("type", "Value must be one of 10, 11, 12")
    if body.get("auto_archive_duration", 60) not in (60, 1440, 4320, 10080):
        raise invalid("auto_archive_duration", "Value must be one of 60, 1440, 4320, 10080")


def outside_code(content: str) -> str:
    """Return a message's text without its code, which stays as it is."""
    return _CODE.sub("\0", content)


def inside_code(content: str) -> list[str]:
    """Return the code of a message, block by block, as a client shows it."""
    return [found[1] or found[3] for found in _CODE.finditer(content)]


def markup(content: str) -> list[tuple[str, str]]:
    """Return what a client makes live in a message: links, mentions, spoilers and the like."""
    text = outside_code(content)
    return [(kind, found[0]) for kind, shape in _MARKUP.items() for found in shape.finditer(text)]

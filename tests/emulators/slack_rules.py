"""Refuse what the Web API refuses, and read what a member sees in blocks."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]

MAX_BLOCKS = 50
MAX_BLOCKS_SIZE = 13_200
MAX_TEXT = 40_000
MAX_RESPONSES = 5

_STYLES = ("primary", "danger")
_ADDRESS = re.compile(r"https?://[^\s<>]+")
_EVENT_TYPE = re.compile(r"[a-zA-Z][a-zA-Z0-9_]{0,79}")


class Refusal(Exception):
    """An answer with ``ok: false``."""

    def __init__(self, error: str, status: int = 200, retry_after: int = 0, **more: object) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.retry_after = retry_after
        self.more = more


def units(text: str) -> int:
    """Count UTF-16 units of text as Slack keeps it: ``& < >`` as entities."""
    kept = escaped(text)
    return len(kept.encode("utf-16-le")) // 2


def escaped(text: str) -> str:
    """Return text as Slack keeps it and sends it in events."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def linked(kept: str) -> str:
    """Return stored text with addresses turned into links, as a client sends it."""
    return _ADDRESS.sub(r"<\g<0>>", kept)


def check_blocks(blocks: object) -> None:
    """Refuse blocks that break a limit or have unknown parts."""
    if not isinstance(blocks, list):
        raise Refusal("invalid_blocks_format")
    if len(blocks) > MAX_BLOCKS:
        raise _bad("no more than 50 items allowed", "/blocks")
    for number, block in enumerate(blocks):
        at = f"/blocks/{number}"
        check = _BLOCKS.get(block.get("type")) if isinstance(block, dict) else None
        if check is None:
            raise _bad("unsupported type", at)
        check(block, at)
    ids = [block["block_id"] for block in blocks if "block_id" in block]
    if len(ids) != len(set(ids)):
        raise _bad("block_id must be unique", "/blocks")
    if len(escaped(json.dumps(blocks, ensure_ascii=False))) > MAX_BLOCKS_SIZE:
        raise Refusal("msg_blocks_too_long")


def check_metadata(metadata: Json) -> None:
    """Refuse metadata without a proper event type or with a payload that is not an object."""
    if metadata.keys() != {"event_type", "event_payload"}:
        raise Refusal("invalid_metadata_format")
    good = _EVENT_TYPE.fullmatch(metadata["event_type"])
    if not good or not isinstance(metadata["event_payload"], dict):
        raise Refusal("invalid_metadata_format")


def seen(blocks: list[Json]) -> str:
    """Return the words that a member reads in blocks, one part a line."""
    return "\n".join(text for kind, text in texts(blocks) if kind != "action")


def texts(value: object) -> Iterator[tuple[str, str]]:
    """Yield each text with the kind of object that contains it."""
    if isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield str(value["type"]), value["text"]
        for name, one in value.items():
            if name != "confirm":
                yield from texts(one)


def buttons(blocks: list[Json]) -> list[Json]:
    """Return the buttons of a message, each with the block that contains it."""
    rows = [block for block in blocks if block["type"] == "actions"]
    return [
        {**button, "block_id": row.get("block_id", f"b{number}")}
        for number, row in enumerate(rows)
        for button in row["elements"]
    ]


def _bad(words: str, at: str) -> Refusal:
    message = f"[ERROR] {words} [json-pointer:{at}]"
    return Refusal("invalid_blocks", errors=[message], response_metadata={"messages": [message]})


def _keys(value: Json, at: str, needed: set[str], allowed: set[str]) -> None:
    if missing := needed - value.keys():
        raise _bad(f"missing required field: {sorted(missing)}", at)
    if unknown := value.keys() - needed - allowed:
        raise _bad(f"no more fields allowed: {sorted(unknown)}", at)
    if not 0 < len(value.get("block_id", "-")) <= 255:
        raise _bad("must be less than 256 characters", f"{at}/block_id")


def _text(value: object, at: str, limit: int, kinds: tuple[str, ...] = ("plain_text",)) -> None:
    if not isinstance(value, dict) or value.get("type") not in kinds:
        raise _bad("must be a text object", at)
    options = {"emoji"} if value["type"] == "plain_text" else {"verbatim"}
    _keys(value, at, {"type", "text"}, options)
    if not value["text"]:
        raise _bad("must be more than 0 characters", f"{at}/text")
    if units(value["text"]) > limit:
        raise _bad(f"must be less than {limit + 1} characters", f"{at}/text")


def _header(block: Json, at: str) -> None:
    _keys(block, at, {"type", "text"}, {"block_id"})
    _text(block["text"], f"{at}/text", 150)


def _section(block: Json, at: str) -> None:
    _keys(block, at, {"type"}, {"text", "fields", "block_id"})
    kinds = ("plain_text", "mrkdwn")
    if "text" in block:
        _text(block["text"], f"{at}/text", 3000, kinds)
    fields = block.get("fields", [])
    if ("text" not in block and not fields) or len(fields) > 10:
        raise _bad("must have a text or 1 to 10 fields", at)
    for number, one in enumerate(fields):
        _text(one, f"{at}/fields/{number}", 2000, kinds)


def _context(block: Json, at: str) -> None:
    _keys(block, at, {"type", "elements"}, {"block_id"})
    if not 1 <= len(block["elements"]) <= 10:
        raise _bad("must have 1 to 10 elements", at)
    for number, one in enumerate(block["elements"]):
        _text(one, f"{at}/elements/{number}", 3000, ("plain_text", "mrkdwn"))


def _rich_text(block: Json, at: str) -> None:
    _keys(block, at, {"type", "elements"}, {"block_id"})
    for part in block["elements"]:
        if part.get("type") not in ("rich_text_preformatted", "rich_text_section"):
            raise _bad("unsupported element", at)
        _keys(part, at, {"type", "elements"}, {"border"})
        for one in part["elements"]:
            if one.get("type") == "link" and part["type"] == "rich_text_section":
                _keys(one, at, {"type", "url"}, {"text", "style", "unsafe"})
                continue
            _keys(one, at, {"type", "text"}, {"style"})
            if one["type"] != "text" or not one["text"]:
                raise _bad("must be a text of more than 0 characters", at)


def _actions(block: Json, at: str) -> None:
    _keys(block, at, {"type", "elements"}, {"block_id"})
    if not 1 <= len(block["elements"]) <= 25:
        raise _bad("no more than 25 items allowed", f"{at}/elements")
    for number, one in enumerate(block["elements"]):
        _button(one, f"{at}/elements/{number}")
    ids = [one["action_id"] for one in block["elements"]]
    if len(ids) != len(set(ids)):
        raise _bad("action_id must be unique", at)


def _button(button: Json, at: str) -> None:
    _keys(button, at, {"type", "text", "action_id"}, {"value", "style", "confirm", "url"})
    _text(button["text"], f"{at}/text", 75)
    if button["type"] != "button" or button.get("style", "danger") not in _STYLES:
        raise _bad("unsupported button", at)
    if len(button["action_id"]) > 255 or len(button.get("value", "")) > 2000:
        raise _bad("action_id or value is too long", at)
    if len(button.get("url", "")) > 3000:
        raise _bad("url is too long", at)
    if "confirm" in button:
        _confirmation(button["confirm"], f"{at}/confirm")


def _confirmation(confirm: Json, at: str) -> None:
    _keys(confirm, at, {"title", "text", "confirm", "deny"}, {"style"})
    for name, limit in (("title", 100), ("text", 300), ("confirm", 30), ("deny", 30)):
        _text(confirm[name], f"{at}/{name}", limit)


def _divider(block: Json, at: str) -> None:
    _keys(block, at, {"type"}, {"block_id"})


_BLOCKS: dict[object, Callable[[Json, str], None]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "rich_text": _rich_text,
    "actions": _actions,
    "divider": _divider,
}

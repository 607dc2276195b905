"""Show a Slack message as a client does: blocks in order, texts unchanged."""

from collections.abc import Callable
from datetime import UTC, datetime

from tests.emulators.page.markup import Html, Json, element, strangers, unknown

_STYLES = {None: "", "primary": "go", "danger": "stop"}
# Next to blocks, ``text`` is for notifications only (docs.slack.dev, chat.postMessage).
_MESSAGE = {"type", "user", "ts", "bot_id", "app_id", "text", "blocks", "metadata"} | {
    "mrkdwn",
    "parse",
    "link_names",
}


def message(posted: Json, name: str) -> Html:
    """Return a message under the name of the app that posted it."""
    at = datetime.fromtimestamp(float(posted["ts"]), UTC)
    head = element(
        "header",
        "author",
        element("b", "", name),
        element("span", "badge", "APP"),
        element("time", "", f"{at:%H:%M}"),
    )
    body = [_block(block) for block in posted["blocks"]]
    return element("article", "message", head, *strangers("message", posted, _MESSAGE), *body)


def _block(block: Json) -> Html:
    show = _BLOCKS.get(block["type"])
    return show(block) if show else unknown(f"block {block['type']}")


def _text(tag: str, look: str, text: Json) -> Html:
    if text["type"] != "plain_text" or text.get("emoji"):
        return unknown(f"text object {text['type']} with emoji={text.get('emoji')}")
    return element(tag, look, text["text"])


def _header(block: Json) -> Html:
    return element("h2", "", _text("span", "", block["text"]), *_extra(block, {"text"}))


def _section(block: Json) -> Html:
    text = [_text("p", "", block["text"])] if "text" in block else []
    cells = [_text("p", "cell", field) for field in block.get("fields", [])]
    fields = [element("div", "cells", *cells)] if cells else []
    return element("section", "", *text, *fields, *_extra(block, {"text", "fields"}))


def _context(block: Json) -> Html:
    shown = [_text("small", "", one) for one in block["elements"]]
    return element("div", "context", *shown, *_extra(block, {"elements"}))


def _rich_text(block: Json) -> Html:
    shown = [_rich_part(part) for part in block["elements"]]
    return element("div", "rich", *shown, *_extra(block, {"elements"}))


def _rich_part(part: Json) -> Html:
    if part["type"] != "rich_text_preformatted":
        return unknown(f"rich text {part['type']}")
    words = [_words(one) for one in part["elements"]]
    return element("pre", "", *words, *_extra(part, {"elements"}))


def _words(one: Json) -> Html | str:
    plain = one["type"] == "text" and not one.get("style")
    return str(one["text"]) if plain else unknown(f"rich text {one['type']} {one.get('style')}")


def _actions(block: Json) -> Html:
    shown = [_button(one) for one in block["elements"]]
    return element("div", "buttons", *shown, *_extra(block, {"elements"}))


def _button(button: Json) -> Html:
    if button["type"] != "button" or button.get("style") not in _STYLES:
        return unknown(f"action {button['type']} {button.get('style')}")
    label = _text("span", "", button["text"])
    # The confirmation of a press (``confirm``) is not visible before the press.
    known = {"text", "action_id", "value", "style", "confirm"}
    return element("button", _STYLES[button.get("style")], label, *_extra(button, known))


def _divider(block: Json) -> Html:
    return element("div", "divider", *_extra(block, set()))


def _extra(thing: Json, known: set[str]) -> list[Html]:
    return strangers(thing["type"], thing, known | {"type", "block_id"})


_BLOCKS: dict[str, Callable[[Json], Html]] = {
    "header": _header,
    "section": _section,
    "context": _context,
    "rich_text": _rich_text,
    "actions": _actions,
    "divider": _divider,
}

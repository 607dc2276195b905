"""Show a Discord message as a client does: the Markdown that our prompts use, and buttons."""

import re
from datetime import UTC, datetime

from tests.emulators.discord_rules import SUPPRESS_EMBEDS, markup
from tests.emulators.page.markup import Html, Json, element, strangers, unknown

_PIECE = re.compile(
    r"```\n(?P<block>[\s\S]*?)\n```\n?"
    r"|`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>[^*\n]+)\*\*"
    r"|<t:(?P<time>\d+):T>"
    r"|<t:(?P<relative>\d+):R>"
)
_TAGS = {"block": "pre", "code": "code", "bold": "b"}
_LEFT_OVER = re.compile(r"[*_`~|\\]")
_STYLES = {1: "plain", 2: "", 3: "go", 4: "stop"}
_MESSAGE = {"id", "channel_id", "guild_id", "author", "timestamp", "content", "components"} | {
    "nonce",
    "flags",
}


def message(posted: Json) -> Html:
    """Return a message under its author's name."""
    at = datetime.fromisoformat(posted["timestamp"]).astimezone(UTC)
    head = element(
        "header",
        "author",
        element("b", "", posted["author"]["username"]),
        element("span", "badge", "APP"),
        element("time", "", f"{at:%H:%M}"),
    )
    rows = [_row(row) for row in posted["components"]]
    return element(
        "article",
        "message",
        head,
        element("div", "text", *_content(posted["content"], at.timestamp())),
        *strangers("message", posted, _MESSAGE),
        *([unknown("flags")] if posted["flags"] & ~SUPPRESS_EMBEDS else []),
        *rows,
    )


def _content(content: str, now: float) -> list[Html | str]:
    shown: list[Html | str] = []
    at = 0
    for found in _PIECE.finditer(content):
        shown += [_plain(content[at : found.start()]), _piece(found, now)]
        at = found.end()
    live = [unknown(f"{kind} {words}") for kind, words in markup(content) if kind != "timestamp"]
    return [*shown, _plain(content[at:]), *live]


def _plain(text: str) -> Html | str:
    # A character that could be Markdown would look different in Discord than here.
    return unknown(f"Markdown in {text!r}") if _LEFT_OVER.search(text) else text


def _piece(found: re.Match[str], now: float) -> Html:
    kind = str(found.lastgroup)
    match kind:
        case "time":
            at = datetime.fromtimestamp(int(found[kind]), UTC)
            return element("time", "chip", f"{at:%H:%M:%S}")
        case "relative":
            minutes = round((int(found[kind]) - now) / 60)
            return element("time", "chip", f"in {minutes} minutes")
        case _:
            return element(_TAGS[kind], "", found[kind])


def _row(row: Json) -> Html:
    if row["type"] != 1:
        return unknown(f"component {row['type']}")
    known = {"type", "components", "id"}
    shown = [_button(one) for one in row["components"]]
    return element("div", "buttons", *shown, *strangers("row", row, known))


def _button(button: Json) -> Html:
    if button["type"] != 2 or button["style"] not in _STYLES:
        return unknown(f"component {button['type']} of style {button.get('style')}")
    known = {"type", "style", "label", "custom_id", "id"}
    extra = strangers("button", button, known)
    return element("button", _STYLES[button["style"]], button["label"], *extra)

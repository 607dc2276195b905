"""Show a Telegram message as a client does: text with its entities, and the inline keyboard."""

from datetime import UTC, datetime

from tests.emulators.page.markup import Html, Json, element, strangers, unknown
from tests.emulators.telegram_rules import entity_text, tappable, utf16

_TAGS = {
    "bold": "b",
    "italic": "i",
    "underline": "u",
    "strikethrough": "s",
    "code": "code",
    "pre": "pre",
}
_FOLD = "expandable_blockquote"
_FOLDED_LINES = 3
_MESSAGE = {"message_id", "date", "chat", "from", "text", "entities", "reply_markup"} | {
    "link_preview_options"
}


def message(posted: Json) -> Html:
    """Return a message as a bubble, with its keyboard below."""
    at = datetime.fromtimestamp(posted["date"], UTC)
    text, entities = posted["text"], posted.get("entities", [])
    live = [unknown(f"{kind} {words}") for kind, words in tappable(text, entities)]
    bubble = element(
        "div",
        "bubble",
        element("div", "text", *_styled(text, entities)),
        *live,
        *strangers("message", posted, _MESSAGE),
        element("time", "", f"{at:%H:%M}"),
    )
    return element("article", "message", bubble, *_keyboard(posted.get("reply_markup", {})))


def _styled(text: str, entities: list[Json]) -> list[Html | str]:
    """Return the text with its entities; only a folded quotation may hold others here."""
    shown: list[Html | str] = []
    folds = [entity for entity in entities if entity["type"] == _FOLD]
    entities = [
        one for one in entities if one in folds or not any(_in(one, each) for each in folds)
    ]
    at, block = 0, False
    for entity in sorted(entities, key=lambda one: int(one["offset"])):
        plain = _between(text, at, entity["offset"])
        opens = entity["type"] in ("pre", _FOLD)
        shown += [_beside(plain, after_block=block, before_block=opens), _entity(text, entity, at)]
        at, block = entity["offset"] + entity["length"], opens
    return [*shown, _beside(_between(text, at, utf16(text)), after_block=block)]


def _in(one: Json, fold: Json) -> bool:
    return bool(fold["offset"] <= one["offset"] < fold["offset"] + fold["length"])


def _folded(text: str) -> Html:
    """Return a quotation as clients fold it: its first lines, and a sign that there is more."""
    return element("blockquote", "", "\n".join(text.split("\n")[:_FOLDED_LINES]), " ⌄")


def _entity(text: str, entity: Json, at: int) -> Html:
    extra = entity.keys() - {"type", "offset", "length"}
    if entity["type"] == _FOLD and not extra:
        return _folded(entity_text(text, entity))
    if entity["type"] not in _TAGS or extra or entity["offset"] < at:
        return unknown(f"entity {entity}")
    return element(_TAGS[entity["type"]], "", entity_text(text, entity))


def _between(text: str, start: int, end: int) -> str:
    return entity_text(text, {"offset": start, "length": max(0, end - start)})


def _beside(plain: str, *, after_block: bool = False, before_block: bool = False) -> str:
    """Return text without the line breaks that a block of code adds on its own."""
    plain = plain.removeprefix("\n") if after_block else plain
    return plain.removesuffix("\n") if before_block else plain


def _keyboard(markup: Json) -> list[Html]:
    rows = [
        element("div", "row", *(_button(button) for button in row))
        for row in markup.get("inline_keyboard", [])
    ]
    return [*rows, *strangers("reply_markup", markup, {"inline_keyboard"})]


def _button(button: Json) -> Html:
    extra = strangers("button", button, {"text", "callback_data"})
    return element("button", "", button["text"], *extra)

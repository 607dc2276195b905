"""Return what a channel shows for a prompt, as text to keep; and read it from such a text."""

import json
from collections.abc import Iterator

from channels.base import Channel, Recordable
from channels.cards import PromptCard, whole_text
from core.model.identity import Target

_SHOWN = ("caption", "content", "document", "files[0]", "text", "label")
"""The members of a call's body that hold what people read, buttons included."""


def rendered(channel: Channel, target: Target, cards: tuple[PromptCard, ...]) -> str:
    """Return what a channel posts for one prompt, or for several as one message.

    Of a platform it is the bodies of its calls as JSON, of others the text of the cards.
    """
    if isinstance(channel, Recordable):
        made = channel.rendering(target, cards)
        return json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    return "\n\n".join(map(whole_text, cards))


def readable(text: str) -> str:
    """Return what people read of a text that ``rendered`` made."""
    if not text.startswith("[{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:  # a command of its own that begins so
        return text
    return "\n".join(_strings(found))


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from _strings(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name in _SHOWN and isinstance(one, str):
                yield one
            else:
                yield from _strings(one)

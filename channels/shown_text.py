"""Record what a channel shows for a prompt as text, and extract from it what people read."""

import json
from collections.abc import Iterator

from channels.base import Channel, Recordable
from channels.cards.card import PromptCard
from channels.cards.lines import whole_text
from core.model.identity import Target

_SHOWN = ("caption", "content", "document", "files[0]", "text", "label")
"""The members of a call's body that contain what people read, including buttons."""


def rendered(channel: Channel, target: Target, cards: tuple[PromptCard, ...]) -> str:
    """Return what a channel posts for one prompt, or for several as one message.

    For a platform it is the bodies of its calls as JSON, for others the text of the cards.
    """
    if isinstance(channel, Recordable):
        made = channel.rendering(target, cards)
        return json.dumps(made, ensure_ascii=False, separators=(",", ":"))
    return "\n\n".join(map(whole_text, cards))


def readable(text: str) -> str:
    """Return what people read in a text that ``rendered`` made."""
    if not text.startswith("[{"):
        return text
    try:
        found = json.loads(text)
    except ValueError:  # a command that itself begins this way
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

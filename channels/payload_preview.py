"""Show what a platform would be sent, without the platform: pure renderings by channel name."""

from importlib import import_module
from types import ModuleType

from channels.cards.card import PromptCard
from core.errors import ConfigError
from core.model.identity import Target

Payloads = list[dict[str, object]]

_RENDERINGS = {
    "discord": "channels.discord.render.messages",
    "slack": "channels.slack.render.messages",
    "telegram": "channels.telegram.render.messages",
}
"""Modules with ``payloads(card, target)`` and ``approvable(card)``."""


def names() -> tuple[str, ...]:
    """Return the channels whose prompts can be shown as payloads."""
    return tuple(sorted(_RENDERINGS))


def payloads(channel: str, card: PromptCard, target: Target) -> Payloads:
    """Return the JSON bodies of the API calls that post a prompt, in order; nothing is sent.

    Raises:
        ConfigError: the channel has no such rendering.
    """
    rendered: Payloads = _rendering(channel).payloads(card, target)
    return rendered


def approvable(channel: str, card: PromptCard) -> bool:
    """Return whether the platform's card may offer to allow, because it shows the whole command.

    Raises:
        ConfigError: the channel has no such rendering.
    """
    return bool(_rendering(channel).approvable(card))


def _rendering(channel: str) -> ModuleType:
    if channel not in _RENDERINGS:
        raise ConfigError(f"{channel!r} has no payloads to show. Known: {', '.join(names())}.")
    return import_module(_RENDERINGS[channel])

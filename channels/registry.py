"""Find a channel's class by its name, and import it only when needed."""

from importlib import import_module
from importlib.metadata import entry_points

from core.errors import ConfigError

GROUP = "sayso.channels"
"""Entry points of this group add channels; a built-in name cannot be taken over."""

BUILT_IN = {
    "companion": "channels.companion.channel:CompanionChannel",
    "discord": "channels.discord.channel:DiscordChannel",
    "memory": "channels.memory:MemoryChannel",
    "push": "channels.push.channel:PushChannel",
    "slack": "channels.slack.channel:SlackChannel",
    "telegram": "channels.telegram.channel:TelegramChannel",
    "terminal": "channels.terminal.channel:TerminalChannel",
    "webhook": "channels.webhook.channel:WebhookChannel",
}


def names() -> tuple[str, ...]:
    """Return the names of all channels that are installed, sorted."""
    return tuple(sorted({*BUILT_IN, *(entry.name for entry in entry_points(group=GROUP))}))


def load(name: str) -> type:
    """Import and return a channel's class.

    Raises:
        ConfigError: no such channel exists.
    """
    module, _, attribute = _path(name).partition(":")
    found = getattr(import_module(module), attribute, None)
    if not isinstance(found, type):
        raise ConfigError(f"The channel {name!r} names {module}:{attribute}, which is not a class.")
    return found


def load_plugin(name: str) -> type:
    """Import and return the class of a third-party channel; it takes its ``PluginSettings``.

    Raises:
        ConfigError: no entry point has this name, or a built-in channel has it.
    """
    if name in BUILT_IN:
        raise ConfigError(f"channels.plugins: {name!r} is built in; set it at channels.{name}.")
    return load(name)


def _path(name: str) -> str:
    if name in BUILT_IN:
        return BUILT_IN[name]
    for entry in entry_points(group=GROUP, name=name):
        return entry.value
    known = ", ".join(names())
    raise ConfigError(f"There is no channel {name!r}. Known channels: {known}.")

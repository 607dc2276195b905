"""Turn what people do on Discord into what the inbox takes.

Bots, webhooks and forwarded messages are nobody. A place is named as the configuration names it: a
direct message by its person (``user:<id>``), a thread by its channel and its own id.
"""

import re
from collections.abc import Sequence

import discord

from channels.base import Inbound
from channels.commands import Command, Malformed, parse
from channels.discord.buttons import decode
from core.model.identity import Actor, Target

NAME = "discord"
DIRECT = "user:"
"""What a ``Target.to`` begins with where it names a person."""

_BOT = "sayso"
_TYPED = (discord.MessageType.default, discord.MessageType.reply)
_FOREIGN = (
    "This server is not in channels.discord.guilds, so nothing was changed. Ask Sayso's operator."
)
_HIDDEN = (
    "Discord hides the words of this reply from me, so nothing was changed. Reply with the ping "
    "on, press a button, or use /approve."
)


def from_press(
    interaction: discord.Interaction, custom_id: str, guilds: Sequence[str]
) -> Inbound | None:
    """Read a pressed button; ``None`` where nobody pressed or Discord sent no message."""
    if interaction.message is None:
        return None
    return _interaction(interaction, decode(custom_id), guilds, str(interaction.message.id))


def from_command(
    interaction: discord.Interaction, text: str, guilds: Sequence[str]
) -> Inbound | None:
    """Read an application command, worded as it would be typed."""
    command = parse(text, bot_name=_BOT) or Malformed()
    return _interaction(interaction, command, guilds)


def from_message(
    message: discord.Message, us: discord.ClientUser, guilds: Sequence[str]
) -> Inbound | None:
    """Read a message; ``None`` where nobody said anything that concerns us."""
    author = message.author
    written = message.type in _TYPED and not message.message_snapshots
    if author.bot or message.webhook_id is not None or not written:
        return None
    prompt = _ours(message, us)
    command = _typed(message, us, prompt)
    if command is None:
        return None
    return Inbound(
        _actor(author),
        place_of(message.channel, author),
        _allowed(command, _guild_of(message), guilds),
        f"{NAME}:{us.id}:{message.id}",
        str(prompt.id) if prompt else "",
    )


def place_of(channel: object, person: discord.abc.User) -> Target:
    """Return a channel, or a thread with its channel, or the person of a direct message."""
    match channel:
        case discord.DMChannel():
            return Target(NAME, f"{DIRECT}{person.id}")
        case discord.Thread():
            return Target(NAME, str(channel.parent_id), thread=str(channel.id))
        case _:
            return Target(NAME, str(getattr(channel, "id", "")))


def _interaction(
    interaction: discord.Interaction,
    command: Command,
    guilds: Sequence[str],
    replied_to: str = "",
) -> Inbound | None:
    person = interaction.user
    if person.bot:
        return None
    return Inbound(
        _actor(person),
        place_of(interaction.channel, person),
        _allowed(command, str(interaction.guild_id or ""), guilds),
        f"{NAME}:{interaction.application_id}:{interaction.id}",
        replied_to,
    )


def _typed(
    message: discord.Message, us: discord.ClientUser, prompt: discord.Message | None
) -> Command | None:
    # Without the privileged intent Discord empties what does not mention us; an empty reply to a
    # prompt was an answer, and its person must not believe that it counted.
    if prompt is not None and not message.content and not message.attachments:
        return Malformed(_HIDDEN)
    words = re.sub(rf"<@!?{us.id}>", " ", message.content)
    addressed = f"@{_BOT} {words}" if words != message.content else words
    if prompt is not None:
        # A reply's ping is no address: the words are read as an answer first.
        return parse(words, bot_name=_BOT, is_reply=True) or parse(addressed, bot_name=_BOT)
    return parse(addressed, bot_name=_BOT)


def _ours(message: discord.Message, us: discord.ClientUser) -> discord.Message | None:
    reference = message.reference.resolved if message.reference else None
    if not isinstance(reference, discord.Message) or reference.author.id != us.id:
        return None
    return reference


def _guild_of(message: discord.Message) -> str:
    if isinstance(message.channel, discord.DMChannel):
        return ""
    return str(message.guild.id if message.guild else "unknown")


def _allowed(command: Command, guild: str, guilds: Sequence[str]) -> Command:
    if not guild or not guilds or guild in guilds:
        return command
    return Malformed(_FOREIGN)


def _actor(person: discord.abc.User) -> Actor:
    return Actor(NAME, str(person.id), person.display_name)

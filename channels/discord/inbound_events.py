"""Turn what people do on Discord into what the inbox takes.

Bots, webhooks and forwarded messages are ignored. A place is named as the configuration names it: a
direct message by its person (``user:<id>``), a thread by its channel and its own id. Roles are
those that Discord sends with each event of a person, and only in servers that the settings list.
"""

import asyncio
import logging
import re
from dataclasses import replace

import discord

from channels.base import Inbound
from channels.commands import Command, Malformed
from channels.discord.errors import FAILURES, translate
from channels.discord.render.buttons import decode, under_reply
from channels.discord.settings import ROLE, DiscordSettings
from channels.grammar import parse
from core.model.identity import Actor, Target

_log = logging.getLogger(__name__)
NAME = "discord"
DIRECT = "user:"
"""How a ``Target.to`` that names a person begins."""

_PLACE_PATIENCE_S = 3.0
"""How long an answer waits for its thread's channel; the library would try for 25 s."""
_BOT = "sayso"
_TYPED = (discord.MessageType.default, discord.MessageType.reply)
_FOREIGN = (
    "This server is not in channels.discord.guilds, so nothing was changed. Ask Sayso's operator."
)
_HIDDEN = (
    "Discord hides the text of this reply from Sayso, so nothing was changed. Reply with the "
    "mention on, press a button, or use /approve."
)


def from_press(
    interaction: discord.Interaction, custom_id: str, settings: DiscordSettings
) -> Inbound | None:
    """Parse a pressed button; ``None`` if no person pressed it.

    The button says what it answers, so a press counts even if the message is left out or
    unreadable.
    """
    message = interaction.message
    prompt = "" if message is None or under_reply(custom_id) else str(message.id)
    return _interaction(interaction, decode(custom_id), settings, prompt)


def from_command(
    interaction: discord.Interaction, text: str, settings: DiscordSettings
) -> Inbound | None:
    """Parse an application command as the text that would be typed."""
    command = parse(text, bot_name=_BOT) or Malformed()
    return _interaction(interaction, command, settings)


def from_message(
    message: discord.Message, us: discord.ClientUser, settings: DiscordSettings
) -> Inbound | None:
    """Parse a message; ``None`` if it is not from a person or does not concern us."""
    author = message.author
    written = message.type in _TYPED and not message.message_snapshots
    if author.bot or message.webhook_id is not None or not written:
        return None
    prompt = _ours(message, us)
    command = _typed(message, us, prompt)
    if command is None:
        return None
    guild = _guild_of(message)
    return Inbound(
        _actor(author, guild, settings),
        place_of(message.channel, author),
        _allowed(command, guild, settings),
        f"{NAME}:{us.id}:{message.id}",
        str(prompt.id) if prompt else "",
        private=isinstance(message.channel, discord.DMChannel),
        message=str(message.id),
    )


async def placed(client: discord.Client, message: discord.Message, inbound: Inbound) -> Inbound:
    """Add the channel of a thread, which a session begun by another process leaves out."""
    if not isinstance(message.channel, discord.PartialMessageable):
        return inbound
    try:
        async with asyncio.timeout(_PLACE_PATIENCE_S):
            channel = await client.fetch_channel(message.channel.id)
    except FAILURES as error:
        _log.warning("Cannot read a message's channel: %s", translate(error))
        return inbound
    return replace(inbound, place=place_of(channel, message.author))


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
    settings: DiscordSettings,
    replied_to: str = "",
) -> Inbound | None:
    person = interaction.user
    if person.bot:
        return None
    guild = str(interaction.guild_id or "")
    return Inbound(
        _actor(person, guild, settings),
        place_of(interaction.channel, person),
        _allowed(command, guild, settings),
        f"{NAME}:{interaction.application_id}:{interaction.id}",
        replied_to,
        private=True,  # its answers are ephemeral
    )


def _typed(
    message: discord.Message, us: discord.ClientUser, prompt: discord.Message | None
) -> Command | None:
    # Without the privileged intent Discord empties what does not mention us; an empty reply to a
    # prompt was meant as an answer, and its author must not believe that it counted.
    if prompt is not None and not message.content and not message.attachments:
        return Malformed(_HIDDEN)
    words = re.sub(rf"<@!?{us.id}>", " ", message.content)
    addressed = f"@{_BOT} {words}" if words != message.content else words
    if prompt is not None:
        # The ping of a reply does not address the bot: the words are read as an answer first.
        return parse(words, bot_name=_BOT, is_reply=True) or parse(addressed, bot_name=_BOT)
    private = isinstance(message.channel, discord.DMChannel)
    return parse(addressed, bot_name=_BOT, private=private)


def _ours(message: discord.Message, us: discord.ClientUser) -> discord.Message | None:
    reference = message.reference.resolved if message.reference else None
    if not isinstance(reference, discord.Message) or reference.author.id != us.id:
        return None
    return reference


def _guild_of(message: discord.Message) -> str:
    if isinstance(message.channel, discord.DMChannel):
        return ""
    # A session begun by another process knows no servers, only their ids.
    unknown = getattr(message.channel, "guild_id", None) or "unknown"
    return str(message.guild.id if message.guild else unknown)


def _allowed(command: Command, guild: str, settings: DiscordSettings) -> Command:
    if not guild or not settings.guilds or guild in settings.guilds:
        return command
    return Malformed(_FOREIGN)


def _actor(person: discord.abc.User, guild: str, settings: DiscordSettings) -> Actor:
    return Actor(NAME, str(person.id), person.display_name, _roles(person, guild, settings))


def _roles(person: discord.abc.User, guild: str, settings: DiscordSettings) -> frozenset[str]:
    if guild not in settings.guilds or not isinstance(person, discord.Member):
        return frozenset()
    # As the event says. ``Member.roles`` leaves out each role that is not cached, and the cache is
    # empty in a session begun by another process.
    held = person._roles  # noqa: SLF001
    return frozenset(ref for ref in settings.roles if held.has(int(ref.removeprefix(ROLE))))

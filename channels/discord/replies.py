"""Answer a press or an application command: once, in time, in private.

Discord requires a first answer within 3 seconds and accepts further ones for 15 minutes.
"""

import logging
from enum import Enum, auto
from functools import partial

import discord

from channels.background import patiently
from channels.base import Reply, Tone
from channels.discord.errors import ALREADY_ACKNOWLEDGED, FAILURES, translate
from channels.discord.inbound_events import NAME
from channels.discord.render.messages import Message, nonce, render_reply
from channels.discord.send_message import attachment, send, view_of
from core.errors import ChannelError
from core.model.identity import Target

_log = logging.getLogger(__name__)


class _Way(Enum):
    """How an answer to a press is shown."""

    NOTE = auto()
    """As a private note."""
    REPLACE = auto()
    """In place of the reply that the button is under."""
    BESIDE = auto()
    """As a private note, next to a reply that stays as it is."""


async def acknowledge(interaction: discord.Interaction, *, of_reply: bool) -> None:
    """Show that a press or command arrived; ``of_reply`` as in ``send_reply``."""
    if interaction.response.is_done():
        return  # the pressed message already shows its final state
    try:
        if of_reply:
            await interaction.response.defer()
        else:
            await interaction.response.defer(ephemeral=True, thinking=True)
    except FAILURES as error:
        _log.info("Cannot acknowledge a press: %s", translate(error))


async def send_reply(interaction: discord.Interaction, reply: Reply, *, of_reply: bool) -> None:
    """Reply to a person's press or command, in private if Discord still can.

    ``of_reply`` means that the button is under one of our replies, which the answer replaces.
    """
    way = _way(interaction, reply) if of_reply else _Way.NOTE
    first, *more = render_reply(reply)
    try:
        await _first_answer(interaction, first, way)
        for part in more:
            await _follow_up(interaction, part)
    except FAILURES as error:
        # Usually the press came too late for Discord: it counted, and the person must know.
        _log.info("Cannot answer a press: %s", translate(error))
        await _write(interaction, (first, *more))


def _way(interaction: discord.Interaction, reply: Reply) -> _Way:
    private = interaction.message is not None and interaction.message.flags.ephemeral
    # A reply that everyone can see stays for those who may press, even if somebody else did.
    return _Way.BESIDE if reply.tone is Tone.REFUSED and not private else _Way.REPLACE


async def _first_answer(interaction: discord.Interaction, message: Message, way: _Way) -> None:
    if not interaction.response.is_done():
        answer = _replace if way is _Way.REPLACE else _answer
        try:
            await answer(interaction, message)
        except discord.HTTPException as error:
            # A redelivered press was acknowledged before the connection broke.
            if error.code != ALREADY_ACKNOWLEDGED:
                raise
        else:
            return
    if way is _Way.BESIDE or (way is _Way.NOTE and await _shows_the_end(interaction)):
        await _follow_up(interaction, message)
    else:
        await interaction.edit_original_response(
            content=message.content, attachments=_files(message), view=_view(message)
        )


async def _shows_the_end(interaction: discord.Interaction) -> bool:
    """Return whether the first answer is the pressed prompt itself, which no note may replace."""
    answered = interaction.response.type
    if answered is not None:
        return answered is discord.InteractionResponseType.message_update
    if interaction.message is None:
        return False
    first = await interaction.original_response()
    return first.id == interaction.message.id


async def _answer(interaction: discord.Interaction, message: Message) -> None:
    await interaction.response.send_message(
        message.content,
        file=attachment(message),
        view=view_of(message.buttons),
        ephemeral=True,
        suppress_embeds=True,
    )


async def _replace(interaction: discord.Interaction, message: Message) -> None:
    await interaction.response.edit_message(
        content=message.content, attachments=_files(message), view=_view(message)
    )


async def _follow_up(interaction: discord.Interaction, message: Message) -> None:
    await interaction.followup.send(
        message.content,
        file=attachment(message),
        view=view_of(message.buttons),
        ephemeral=True,
        suppress_embeds=True,
    )


def _files(message: Message) -> list[discord.File]:
    return [attachment(message)] if message.file is not None else []


def _view(message: Message) -> discord.ui.View | None:
    return view_of(message.buttons) if message.buttons else None


async def _write(interaction: discord.Interaction, parts: tuple[Message, ...]) -> None:
    person = interaction.user
    try:
        for number, part in enumerate(parts):
            once = nonce(str(interaction.id), Target(NAME, str(person.id)), number)
            await patiently(partial(_write_one, person, part, once))
    except ChannelError as error:
        _log.warning("Cannot reply to a person: %s", error)


async def _write_one(person: discord.User | discord.Member, part: Message, once: str) -> None:
    try:
        await send(await person.create_dm(), part, once)
    except FAILURES as error:
        raise translate(error) from error

"""Answer a press with the final state of the pressed message, if that is ready in time.

Discord accepts one first answer to a press; an edit of its message can be that answer. It arrives
as soon as a note to the person would, and does not count against the channel's rate limit.
"""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import discord

from channels.discord.errors import FAILURES, translate
from channels.discord.render.messages import Message
from channels.discord.send_message import view_of

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Press:
    """A press without a reply so far; the task that answers it holds ``answering``."""

    interaction: discord.Interaction
    answering: asyncio.Lock = field(default_factory=asyncio.Lock)


@dataclass(frozen=True, slots=True)
class Presses:
    """The presses that wait for a reply, by the message that was pressed."""

    _open: dict[str, Press] = field(default_factory=dict)

    @contextmanager
    def waiting(self, interaction: discord.Interaction, message: str) -> Iterator[Press]:
        """Let edits of a message answer its press for as long as the block lasts.

        Of several presses the first is answered this way; an empty ``message`` is not a prompt's.
        """
        press = Press(interaction)
        own = bool(message) and self._open.setdefault(message, press) is press
        try:
            yield press
        finally:
            if own:
                del self._open[message]

    async def edit(self, message: str, rendered: Message) -> bool:
        """Edit a message as the first answer to its press; ``False``: edit it another way."""
        press = self._open.get(message)
        if press is None or rendered.file is not None:
            return False
        async with press.answering:
            response = press.interaction.response
            if response.is_done():
                return False
            view = view_of(rendered.buttons) if rendered.buttons else None
            try:
                await response.edit_message(content=rendered.content, view=view)
            except FAILURES as error:
                _log.info("Cannot answer a press with its message: %s", translate(error))
                return False
        return True

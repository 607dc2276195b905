"""Pass what a person did to the inbox, and reply as long as Discord accepts a reply.

A decision that is committed at once is the first answer to a press; a slower one is acknowledged,
and answered once it is committed.
"""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import discord

from channels.background import finish, patiently
from channels.base import BROKEN, STOPPING, Inbound, Inbox, Reply, Tone
from channels.discord.errors import FAILURES, translate
from channels.discord.presses import Presses
from channels.discord.render.messages import Message, nonce, render_reply
from channels.discord.replies import acknowledge, send_reply
from channels.discord.send_message import send
from core.errors import ChannelError, SaysoError, Stopping
from core.text.render import Redacted

_log = logging.getLogger(__name__)
_PATIENCE_S = 1.0
_STOP_PATIENCE_S = 3.0
_LONGEST_RETRY_S = 15.0
_KEPT_S = 600.0
_MOST_FAULTS = 3
_LATE = Redacted("Sayso could not store this answer, so it changed nothing. Answer again.")


@dataclass(slots=True)
class Receiver:
    """What people did that has no reply yet.

    Discord sends an event once and forgets it, so if the inbox fails, it is asked again from here,
    as long as Discord accepts a reply.
    """

    inbox: Inbox
    presses: Presses
    _in_hand: set[asyncio.Task[object]] = field(default_factory=set)

    async def pressed(
        self, interaction: discord.Interaction, inbound: Inbound, *, of_reply: bool = False
    ) -> None:
        """Take a press or an application command; only that person sees the answer.

        ``of_reply`` means that the button is under one of our replies, which the answer replaces.
        """
        self.hold()
        deciding = asyncio.ensure_future(self._decided(inbound))
        try:
            with self.presses.waiting(interaction, inbound.replied_to) as press:
                done, _ = await asyncio.wait({deciding}, timeout=_PATIENCE_S)
                if not done:
                    async with press.answering:
                        await acknowledge(interaction, of_reply=of_reply)
                reply = await deciding
            async with press.answering:
                await send_reply(interaction, reply, of_reply=of_reply)
        finally:
            deciding.cancel()

    async def said(self, message: discord.Message, inbound: Inbound) -> None:
        """Take a message; the answer is a reply to it."""
        self.hold()
        reply = await self._decided(inbound)
        try:
            for number, part in enumerate(render_reply(reply)):
                once = nonce(inbound.key, inbound.place, number)
                await patiently(partial(_reply, message, part, once))
        except ChannelError as error:
            _log.warning("Cannot send a reply: %s", error)

    async def finish(self) -> bool:
        """Wait a moment for what is in progress, then cancel it; return whether all had ended."""
        return await finish(self._in_hand, _STOP_PATIENCE_S)

    def hold(self) -> None:
        """Add the current task to those that a stop waits for, then cancels."""
        task = asyncio.current_task()
        if task is not None:
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)

    async def _decided(self, inbound: Inbound) -> Reply:
        faults = 0
        for wait in _waits():
            try:
                return await self.inbox.receive(inbound)
            except Stopping:
                return STOPPING  # no one is left to retry
            except SaysoError as error:
                _log.warning("An answer is waiting for the store: %s", error)
            except Exception:  # noqa: BLE001 - a fault of ours must be reported, not swallowed
                _log.exception("Cannot process an answer")
                faults += 1
                if faults == _MOST_FAULTS:
                    return BROKEN
            await asyncio.sleep(wait)
        return Reply(_LATE, Tone.REFUSED)


async def _reply(message: discord.Message, part: Message, once: str) -> None:
    try:
        await send(message.channel, part, once, reference=message)
    except FAILURES as error:
        raise translate(error) from error


def _waits() -> Iterator[float]:
    wait, total = 0.25, 0.0
    while total < _KEPT_S:
        yield wait
        total += wait
        wait = min(2 * wait, _LONGEST_RETRY_S)

"""Acknowledge in time, ask the inbox, and tell the person what became of it.

Discord wants a first answer within 3 seconds and takes further ones for 15 minutes. A decision that
is committed at once is that first answer; a slower one is acknowledged and told when it is true.
"""

import asyncio
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import discord

from channels.base import Inbound, Inbox, Reply, Tone
from channels.discord.errors import ALREADY_ACKNOWLEDGED, FAILURES, translate
from channels.discord.incoming import NAME
from channels.discord.sending import attachment, send
from channels.discord.views import Message, nonce, render_text
from core.approvals.rendering import Redacted
from core.errors import SaysoError
from core.model.identity import Target

_log = logging.getLogger(__name__)
_PATIENCE_S = 1.0
_STOP_PATIENCE_S = 3.0
_LONGEST_RETRY_S = 15.0
_KEPT_S = 600.0
_MOST_FAULTS = 3
_LATE = Redacted("Sayso could not store this answer, so it changed nothing. Answer again.")
_BROKEN = Redacted("Sayso failed to take this answer, so it changed nothing. Tell its operator.")


@dataclass(slots=True)
class Answers:
    """What people did and is not told yet.

    Discord sends an event once and forgets it, so an inbox that fails is asked again from here, as
    long as Discord lets us answer. ``idle`` says that nothing is in hand.
    """

    inbox: Inbox
    _in_hand: set[asyncio.Task[object]] = field(default_factory=set)

    @property
    def idle(self) -> bool:
        """Say whether everything that came in was told."""
        return not self._in_hand

    async def pressed(self, interaction: discord.Interaction, inbound: Inbound) -> None:
        """Take a press or an application command; the answer is seen by that person alone."""
        self._hold()
        deciding = asyncio.ensure_future(self._decided(inbound))
        try:
            done, _ = await asyncio.wait({deciding}, timeout=_PATIENCE_S)
            if not done:
                await _acknowledge(interaction)
            await self._tell(interaction, await deciding)
        finally:
            deciding.cancel()

    async def said(self, message: discord.Message, inbound: Inbound) -> None:
        """Take a message; the answer is a reply to it."""
        self._hold()
        reply = await self._decided(inbound)
        try:
            for number, part in enumerate(render_text(reply.text)):
                once = nonce(inbound.key, inbound.place, number)
                await send(message.channel, part, once, reference=message)
        except FAILURES as error:
            _log.warning("A reply could not be sent: %s", translate(error))

    async def finish(self) -> bool:
        """Wait a moment for what is in hand, then give it up; say whether nothing was."""
        if not self._in_hand:
            return True
        _, late = await asyncio.wait(self._in_hand, timeout=_STOP_PATIENCE_S)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)
        return not late

    def _hold(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._in_hand.add(task)
            task.add_done_callback(self._in_hand.discard)

    async def _decided(self, inbound: Inbound) -> Reply:
        faults = 0
        for wait in _waits():
            try:
                return await self.inbox.receive(inbound)
            except SaysoError as error:
                _log.warning("An answer waits for the store: %s", error)
            except Exception:  # noqa: BLE001 - a fault of ours must be told, not swallowed
                _log.exception("An answer could not be taken")
                faults += 1
                if faults == _MOST_FAULTS:
                    return Reply(_BROKEN, Tone.REFUSED)
            await asyncio.sleep(wait)
        return Reply(_LATE, Tone.REFUSED)

    async def _tell(self, interaction: discord.Interaction, reply: Reply) -> None:
        first, *more = render_text(reply.text)
        try:
            await _first_answer(interaction, first)
            for part in more:
                await interaction.followup.send(part.content, ephemeral=True, suppress_embeds=True)
        except FAILURES as error:
            # Usually the press came too late for Discord: it counted, and its person must know.
            _log.info("A press could not be answered: %s", translate(error))
            await _write(interaction, (first, *more))


async def _acknowledge(interaction: discord.Interaction) -> None:
    try:
        await interaction.response.defer(ephemeral=True, thinking=True)
    except FAILURES as error:
        _log.info("A press could not be acknowledged: %s", translate(error))


async def _first_answer(interaction: discord.Interaction, message: Message) -> None:
    if not interaction.response.is_done():
        try:
            await interaction.response.send_message(
                message.content, file=attachment(message), ephemeral=True, suppress_embeds=True
            )
        except discord.HTTPException as error:
            # A redelivered press was acknowledged before the connection broke.
            if error.code != ALREADY_ACKNOWLEDGED:
                raise
        else:
            return
    files = [attachment(message)] if message.file is not None else []
    await interaction.edit_original_response(content=message.content, attachments=files)


async def _write(interaction: discord.Interaction, parts: tuple[Message, ...]) -> None:
    person = interaction.user
    try:
        for number, part in enumerate(parts):
            once = nonce(str(interaction.id), Target(NAME, str(person.id)), number)
            await send(await person.create_dm(), part, once)
    except FAILURES as error:
        _log.warning("A person could not be told: %s", translate(error))


def _waits() -> Iterator[float]:
    wait, total = 0.25, 0.0
    while total < _KEPT_S:
        yield wait
        total += wait
        wait = min(2 * wait, _LONGEST_RETRY_S)

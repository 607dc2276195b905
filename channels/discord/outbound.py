"""Send, edit and open threads with the connected client, translating Discord's errors."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeVar

import discord
from discord.utils import time_snowflake

from channels.discord.errors import FAILURES, THREAD_EXISTS, archived, gone, translate
from channels.discord.inbound_events import DIRECT
from channels.discord.presses import Presses
from channels.discord.render.buttons import asks
from channels.discord.render.messages import Message, nonce
from channels.discord.send_message import send, view_of
from channels.discord.transport import GatewayClient
from channels.utf16 import cut
from core.errors import ChannelError
from core.model.identity import Target
from core.text.render import Redacted

_log = logging.getLogger(__name__)
_PAGE = 100
_MOST_PAGES = 2
_SKEW_S = 60
_CALL_PATIENCE_S = 20.0
"""The library retries for 25 s and waits 300 s for an answer; the outbox's claim ends earlier."""
_THREAD_NAME_UNITS = 100
_WEEK_MINUTES: Final = 10_080

_Place = discord.DMChannel | discord.PartialMessageable
_T = TypeVar("_T")


@contextlib.asynccontextmanager
async def calling() -> AsyncIterator[None]:
    """Limit a call in time, and raise Discord's errors as ``ChannelError``."""
    try:
        async with asyncio.timeout(_CALL_PATIENCE_S):
            yield
    except FAILURES as error:
        raise translate(error) from error


@dataclass(frozen=True, slots=True)
class Deliveries:
    """The calls that write; ``connected`` returns the client or raises ``ChannelError``."""

    connected: Callable[[], GatewayClient]
    presses: Presses

    async def send(
        self, target: Target, subject: str, messages: tuple[Message, ...], reply_to: str = ""
    ) -> str:
        """Send messages in order and return the id of the last.

        Sent again with the same ``subject`` to the same place, they are not duplicated. With
        ``reply_to`` they reply to a message.
        """
        sent = ""
        async with calling():
            place = await self._place(target)
            about = place.get_partial_message(int(reply_to)) if reply_to else None
            for number, message in enumerate(messages):
                once = nonce(subject, target, number)
                made = await self._awake(target, partial(send, place, message, once, about))
                sent = str(made.id)
        return sent

    async def find(self, target: Target, approval: str, made_ms: int) -> str:
        """Return the id of the message whose buttons answer an approval, empty if there is none.

        For some minutes, a nonce keeps an identical message from being sent twice; what was sent
        before a crash, or in a group, is found by its buttons. ``made_ms`` is when the approval was
        created.
        """
        after = time_snowflake(_utc(made_ms / 1000 - _SKEW_S))
        async with calling():
            place = await self._place(target)
            number = place.id
            try:
                for _ in range(_MOST_PAGES):
                    page = await self.connected().http.logs_from(number, _PAGE, after=after)
                    found = self._found_in(page, approval)
                    if found or len(page) < _PAGE:
                        return found
                    after = max(_id_of(message) for message in page)
            except discord.Forbidden as error:
                _log.info("Cannot look up sent prompts: %s", translate(error))
        return ""

    def _found_in(self, page: Sequence[Mapping[str, Any]], approval: str) -> str:
        # In raw form: the library's own parsing fails on what Discord leaves out.
        us = self.connected().user
        mine = (one for one in page if us is not None and _author_of(one) == str(us.id))
        return next((str(_id_of(one)) for one in mine if approval in _asked_in(one)), "")

    async def edit(self, target: Target, message: str, rendered: Message) -> None:
        """Replace a message's text and buttons; a vanished one is not an error.

        If somebody has just pressed one of its buttons, the edit is the answer to that press.
        """
        view = view_of(rendered.buttons) if rendered.buttons else None
        async with calling():
            if await self.presses.edit(message, rendered):
                return
            place = await self._place(target)
            edited = place.get_partial_message(int(message))
            try:
                await self._awake(target, lambda: edited.edit(content=rendered.content, view=view))
            except discord.HTTPException as error:
                if not gone(error):
                    raise

    async def open_thread(self, target: Target, title: Redacted, message: str = "") -> Target:
        """Open a public thread in a channel of a server, and return its place.

        A message has at most one thread, which has the message's id.

        Raises:
            ChannelError: permanent if the place is a direct message or has no such threads.
        """
        async with calling():
            channel = await self.connected().fetch_channel(_number(target.to, direct=False))
            if not isinstance(channel, discord.TextChannel) or channel.is_news():
                words = f"Channel {target.to} has no public threads; use a text channel instead."
                raise ChannelError(words, permanent=True)
            name = cut(title.text.strip(), _THREAD_NAME_UNITS)[0] or "Sayso"
            if message:
                return replace(target, thread=await _thread_of(channel, int(message), name))
            thread = await channel.create_thread(
                name=name,
                type=discord.ChannelType.public_thread,
                auto_archive_duration=_WEEK_MINUTES,
            )
        return replace(target, thread=str(thread.id))

    async def _place(self, target: Target) -> _Place:
        client = self.connected()
        place = target.thread or target.to
        number = _number(place)
        if place.startswith(DIRECT):
            return await client.create_dm(discord.Object(number))
        return client.get_partial_messageable(number)

    async def _awake(self, target: Target, call: Callable[[], Awaitable[_T]]) -> _T:
        """Make a call, and repeat it if its thread first had to be unarchived."""
        try:
            return await call()
        except discord.HTTPException as error:
            if not archived(error):
                raise
        thread = await self.connected().fetch_channel(_number(target.thread or target.to))
        if isinstance(thread, discord.Thread):
            await thread.edit(archived=False)
        return await call()


async def _thread_of(channel: discord.TextChannel, message: int, name: str) -> str:
    """Return the thread of a message, opening it if there is none."""
    try:
        written = channel.get_partial_message(message)
        thread = await written.create_thread(name=name, auto_archive_duration=_WEEK_MINUTES)
    except discord.HTTPException as error:
        if error.code != THREAD_EXISTS:
            raise
        return str(message)
    return str(thread.id)


def _id_of(message: Mapping[str, Any]) -> int:
    number = str(message.get("id", ""))
    return int(number) if number.isdecimal() else 0


def _author_of(message: Mapping[str, Any]) -> str:
    return str((message.get("author") or {}).get("id", ""))


def _asked_in(message: Mapping[str, Any]) -> set[str]:
    if not _id_of(message):
        return set()
    rows = (row.get("components") or () for row in message.get("components") or ())
    return {asks(str(one.get("custom_id", ""))) for row in rows for one in row}


def _utc(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def _number(place: str, *, direct: bool = True) -> int:
    number = place.removeprefix(DIRECT)
    if not number.isdecimal():
        raise ChannelError(
            f"{place!r} is not a Discord target. Set the target's `to` to a channel's id, or to "
            f"{DIRECT} and a user's id.",
            permanent=True,
        )
    if number != place and not direct:
        words = "Direct messages have no threads; use a text channel of a server instead."
        raise ChannelError(words, permanent=True)
    return int(number)

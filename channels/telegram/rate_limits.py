"""Send no faster than Telegram allows.

Telegram's limits: about one message a second to a chat, 20 a minute to a group, 30 a second in all
(Bot FAQ, "My bot is hitting limits"). The library's own limiter lacks the first, and its buckets
let 60 messages through in a second and 40 in a group's first minute. Edits have a lane of their
own, so that a final state never waits behind prompts.
"""

import asyncio
from collections.abc import Callable, Coroutine
from math import ceil
from typing import Any

from telegram.error import RetryAfter
from telegram.ext import BaseRateLimiter

from channels.pacing import Clock, Clocks, Rate, TurnFarOff
from channels.telegram.errors import wait_ms

PATIENT = 1
"""A ``rate_limit_args`` for what must follow at once: it waits for its turn however long."""
_SHORT_WAIT_MS = 2_000
_EDIT = "editMessageText"

# burst + window / seconds is the most that leaves in any window: 25 a second, 19 a minute. The
# rest is room for what the network bunches.
OVERALL = Rate(1 / 20, 5)
CHAT = Rate(1.0, 3)
GROUP = Rate(5.4, 8)
# Telegram names no limit for edits; where it has one, its 429 is heeded.
_EDITS = Rate(1 / 4, 8)
_ALL_EDITS = Rate(1 / 20, 10)


class ChatPacing(BaseRateLimiter[int]):
    """Give each message its turn by the clocks of its chat and of the whole bot.

    A turn far off, and a long wait that Telegram asks for, are the outbox's to schedule; a short
    one is slept through. A chat that must wait is left alone for that long.
    """

    def __init__(self) -> None:
        self._messages = Clock(OVERALL)
        self._edits = Clock(_ALL_EDITS)
        self._chats = Clocks()

    async def initialize(self) -> None:
        """Need nothing."""

    async def shutdown(self) -> None:
        """Hold nothing."""

    async def process_request(
        self,
        callback: Callable[..., Coroutine[Any, Any, Any]],
        args: Any,  # noqa: ANN401 - the SDK's signature
        kwargs: dict[str, Any],
        endpoint: str,
        data: dict[str, Any],
        rate_limit_args: int | None,
    ) -> Any:  # noqa: ANN401 - the SDK's signature
        """Wait for the message's turn, then send; sleep through one short refusal.

        Raises:
            RetryAfter: its turn is far off, or Telegram asks for a long wait.
        """
        chat = str(data.get("chat_id", ""))
        if not chat:
            return await callback(*args, **kwargs)
        own = self._clocks_of(chat, endpoint)
        try:
            # The bot's clock comes last: what waited for its chat must not pass the bot's limit.
            for clock in (*own, self._edits if endpoint == _EDIT else self._messages):
                await clock.take(patient=rate_limit_args == PATIENT)
        except TurnFarOff as far:
            raise RetryAfter(ceil(far.seconds)) from None
        try:
            return await callback(*args, **kwargs)
        except RetryAfter as error:
            for clock in own:
                clock.hold(wait_ms(error) / 1000)
            if wait_ms(error) > _SHORT_WAIT_MS:
                raise
            await asyncio.sleep(wait_ms(error) / 1000)
            return await callback(*args, **kwargs)

    def _clocks_of(self, chat: str, endpoint: str) -> tuple[Clock, ...]:
        if endpoint == _EDIT:
            return (self._chats.of(f"edit {chat}", _EDITS),)
        own = self._chats.of(chat, CHAT)
        # Only numeric ids above zero are private chats; names are channels and groups.
        return (own,) if chat.isdecimal() else (own, self._chats.of(f"group {chat}", GROUP))

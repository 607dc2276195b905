"""Send no faster than Telegram allows.

Telegram's limits: about one message per second to a chat, 20 per minute to a group, 30 per second
in all (Bot FAQ, "My bot is hitting limits"). The library's own limiter lacks the first, and its
buckets let 60 messages through in a second and 40 in a group's first minute. Edits have their own
lane, so that a final state never has to wait for prompts.
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
"""``rate_limit_args`` for what must follow directly: it waits for its turn however long."""
_SHORT_WAIT_MS = 2_000
_EDIT = "editMessageText"

# burst + window / seconds is the most that is sent in any window: 25 per second, 19 per minute. The
# rest is slack for messages that the network bunches together.
OVERALL = Rate(1 / 20, 5)
CHAT = Rate(1.0, 3)
GROUP = Rate(5.4, 8)
# Telegram names no limit for edits; if it has one, its 429 is heeded.
_EDITS = Rate(1 / 4, 8)
_ALL_EDITS = Rate(1 / 20, 10)


class ChatPacing(BaseRateLimiter[int]):
    """Paces each message by the clocks of its chat and of the whole bot.

    A turn far off, and a long wait that Telegram asks for, are left for the outbox to schedule; a
    short one is slept through. Nothing is sent to a chat that must wait for that long.
    """

    def __init__(self) -> None:
        self._messages = Clock(OVERALL)
        self._edits = Clock(_ALL_EDITS)
        self._chats = Clocks()

    async def initialize(self) -> None:
        """Do nothing; there is nothing to set up."""

    async def shutdown(self) -> None:
        """Do nothing; there is nothing to release."""

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
            # The bot's clock comes last: messages that waited for their chats must not exceed the
            # bot's limit.
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

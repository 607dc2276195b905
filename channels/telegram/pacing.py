"""Send no faster than Telegram allows, and let no chat hold up another.

Telegram's limits: about one message a second to a chat, 20 a minute to a group, 30 a second in all
(Bot FAQ, "My bot is hitting limits"). The library's own limiter lacks the first, and its buckets
let 60 messages through in a second and 40 in a group's first minute. Edits have a lane of their
own, so that a final state never waits behind prompts.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from math import ceil
from typing import Any

from telegram.error import RetryAfter
from telegram.ext import BaseRateLimiter

from channels.telegram.errors import wait_ms

PATIENT = 1
"""A ``rate_limit_args`` for what must follow at once: it waits for its turn however long."""
_SHORT_WAIT_MS = 2_000
_LONGEST_TURN_S = 5.0
_MOST_CLOCKS = 1_000
_EDIT = "editMessageText"
_BOT = "bot"
_BOTS_EDITS = "bot's edits"


@dataclass(frozen=True, slots=True)
class Rate:
    """One message each ``seconds``, of which ``burst`` may come at once."""

    seconds: float
    burst: int


# burst + window / seconds is the most that leaves in any window: 25 a second, 19 a minute. The
# rest is room for what the network bunches.
_OVERALL = Rate(1 / 20, 5)
_CHAT = Rate(1.0, 3)
_GROUP = Rate(5.4, 8)
# Telegram names no limit for edits; where it has one, its 429 is heeded.
_EDITS = Rate(1 / 4, 8)
_ALL_EDITS = Rate(1 / 20, 10)


class ChatPacing(BaseRateLimiter[int]):
    """Give each message its turn by the clocks of its chat and of the whole bot.

    A turn far off, and a long wait that Telegram asks for, are the outbox's to schedule; a short
    one is slept through. A chat that was told to wait is left alone for that long.
    """

    def __init__(self) -> None:
        self._free_at: dict[str, float] = {}

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
        clocks = _clocks(endpoint, data)
        for clock, rate in clocks.items():
            await self._turn(clock, rate, patient=rate_limit_args == PATIENT)
        try:
            return await callback(*args, **kwargs)
        except RetryAfter as error:
            self._hold(clocks, wait_ms(error) / 1000)
            if wait_ms(error) > _SHORT_WAIT_MS:
                raise
            await asyncio.sleep(wait_ms(error) / 1000)
            return await callback(*args, **kwargs)

    async def _turn(self, clock: str, rate: Rate, *, patient: bool) -> None:
        now = asyncio.get_running_loop().time()
        # A clock that runs ahead of now by less than its burst lets the message through at once.
        turn = max(self._free_at.get(clock, 0.0), now - rate.seconds * (rate.burst - 1))
        if turn - now > _LONGEST_TURN_S and not patient:
            raise RetryAfter(ceil(turn - now))
        self._free_at[clock] = turn + rate.seconds
        if len(self._free_at) > _MOST_CLOCKS:
            past = now - _GROUP.seconds * _GROUP.burst
            self._free_at = {name: at for name, at in self._free_at.items() if at > past}
        if turn > now:
            await asyncio.sleep(turn - now)

    def _hold(self, clocks: dict[str, Rate], seconds: float) -> None:
        until = asyncio.get_running_loop().time() + seconds
        for name in clocks:
            if name not in (_BOT, _BOTS_EDITS):
                self._free_at[name] = max(self._free_at.get(name, 0.0), until)


def _clocks(endpoint: str, data: dict[str, Any]) -> dict[str, Rate]:
    """Return the clocks that a request goes by, with the rate of each, in the order of waiting."""
    chat = str(data.get("chat_id", ""))
    if not chat:
        return {}
    if endpoint == _EDIT:
        return {f"edit {chat}": _EDITS, _BOTS_EDITS: _ALL_EDITS}
    # Only numeric ids above zero are private chats; names are channels and groups. The bot's own
    # clock comes last: what waits for its chat must not pass the bot's limit in a bunch.
    group = {} if chat.isdecimal() else {f"group {chat}": _GROUP}
    return {chat: _CHAT, **group, _BOT: _OVERALL}

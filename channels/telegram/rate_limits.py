"""Send no faster than Telegram allows, and let no chat hold up another.

Telegram's limits: about one message a second to a chat, 20 a minute to a group, 30 a second in all
(Bot FAQ, "My bot is hitting limits"). The library's own limiter lacks the first, and its buckets
let 60 messages through in a second and 40 in a group's first minute. Edits have a lane of their
own, so that a final state never waits behind prompts.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
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


@dataclass(frozen=True, slots=True)
class Rate:
    """One message each ``seconds``, of which ``burst`` may leave at once."""

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


@dataclass(slots=True)
class Clock:
    """When the next message may leave, by one rate; times are seconds of the event loop."""

    rate: Rate
    _free_at: float = 0.0
    _waiting: int = 0
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)

    def turn(self, now: float) -> float:
        """Return when the next message may leave; a turn in the past is now."""
        return max(self._free_at, now - self.rate.seconds * (self.rate.burst - 1))

    def leave(self, now: float) -> None:
        """Note that a message leaves now."""
        self._free_at = self.turn(now) + self.rate.seconds

    def hold(self, until: float) -> None:
        """Let nothing leave before a time."""
        self._free_at = max(self._free_at, until)

    def idle(self, now: float) -> bool:
        """Return whether the clock holds no more than a new one would."""
        return not self._waiting and self._free_at < now - self.rate.seconds * self.rate.burst

    async def take(self, *, patient: bool) -> None:
        """Wait for a turn, in the order of asking.

        Raises:
            RetryAfter: it is too far off, and the message is not ``patient``.
        """
        loop = asyncio.get_running_loop()
        wait = self.turn(loop.time()) + self._waiting * self.rate.seconds - loop.time()
        if wait > _LONGEST_TURN_S and not patient:
            raise RetryAfter(ceil(wait))
        self._waiting += 1
        try:
            async with self._line:
                # Turns are not given out in advance: a loop that stalled would let all leave in
                # one bunch.
                while (turn := self.turn(loop.time())) > loop.time():  # noqa: ASYNC110 - a hold moves it
                    await asyncio.sleep(turn - loop.time())
                self.leave(loop.time())
        finally:
            self._waiting -= 1


class ChatPacing(BaseRateLimiter[int]):
    """Give each message its turn by the clocks of its chat and of the whole bot.

    A turn far off, and a long wait that Telegram asks for, are the outbox's to schedule; a short
    one is slept through. A chat that must wait is left alone for that long.
    """

    def __init__(self) -> None:
        self._messages = Clock(_OVERALL)
        self._edits = Clock(_ALL_EDITS)
        self._chats: dict[str, Clock] = {}

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
        # The bot's clock comes last: what waited for its chat must not pass the bot's limit.
        for clock in (*own, self._edits if endpoint == _EDIT else self._messages):
            await clock.take(patient=rate_limit_args == PATIENT)
        try:
            return await callback(*args, **kwargs)
        except RetryAfter as error:
            for clock in own:
                clock.hold(asyncio.get_running_loop().time() + wait_ms(error) / 1000)
            if wait_ms(error) > _SHORT_WAIT_MS:
                raise
            await asyncio.sleep(wait_ms(error) / 1000)
            return await callback(*args, **kwargs)

    def _clocks_of(self, chat: str, endpoint: str) -> tuple[Clock, ...]:
        if endpoint == _EDIT:
            return (self._clock(f"edit {chat}", _EDITS),)
        own = self._clock(chat, _CHAT)
        # Only numeric ids above zero are private chats; names are channels and groups.
        return (own,) if chat.isdecimal() else (own, self._clock(f"group {chat}", _GROUP))

    def _clock(self, name: str, rate: Rate) -> Clock:
        if len(self._chats) > _MOST_CLOCKS:
            now = asyncio.get_running_loop().time()
            self._chats = {
                name: clock for name, clock in self._chats.items() if not clock.idle(now)
            }
        return self._chats.setdefault(name, Clock(rate))

"""Write to each channel at most once a second, in short bursts (docs.slack.dev, "Rate limits")."""

import asyncio
from dataclasses import dataclass, field

from core.errors import ChannelError

_BURST = 3
_PER_SECOND = 1.0
_LONGEST_TURN_S = 5.0
_MOST_CHANNELS = 1_000


@dataclass(slots=True)
class Pacing:
    """The next free moment of each channel, on the loop's clock."""

    _free_at: dict[str, float] = field(default_factory=dict)

    async def turn(self, channel: str, *, patient: bool = False) -> None:
        """Wait for a channel's turn; ``patient`` waits however long it takes.

        Raises:
            ChannelError: the turn is more than five seconds away; others should not wait for it.
        """
        now = asyncio.get_running_loop().time()
        # Each message moves the channel's clock on by a second; it may lag by a burst.
        turn = max(self._free_at.get(channel, 0.0), now - (_BURST - 1) / _PER_SECOND)
        if turn - now > _LONGEST_TURN_S and not patient:
            words = "Slack takes one message a second for each channel."
            raise ChannelError(words, retry_after_ms=int((turn - now) * 1000))
        self._free_at[channel] = turn + 1 / _PER_SECOND
        self._forget(now)
        if turn > now:
            await asyncio.sleep(turn - now)

    def hold(self, channel: str, seconds: float) -> None:
        """Leave a channel alone for as long as Slack asked."""
        now = asyncio.get_running_loop().time()
        self._free_at[channel] = max(self._free_at.get(channel, 0.0), now + seconds)

    def _forget(self, now: float) -> None:
        if len(self._free_at) > _MOST_CHANNELS:
            self._free_at = {name: at for name, at in self._free_at.items() if at > now - _BURST}

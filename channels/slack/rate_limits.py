"""Keep to the rates of a platform's methods (docs.slack.dev, "Rate limits").

Messages go to each channel once a second, in short bursts; edits are counted over the whole
workspace, 50 a minute (tier 3). So no final state waits behind new prompts.
"""

import asyncio
from dataclasses import dataclass, field

from core.errors import ChannelError

_LONGEST_TURN_S = 5.0
_MOST_PLACES = 1_000


@dataclass(slots=True)
class Pacing:
    """The next free moment of each place, on the loop's clock; bursts and seconds between turns."""

    burst: int
    between_s: float
    rate: str
    _free_at: dict[str, float] = field(default_factory=dict)

    async def turn(self, place: str, *, patient: bool = False) -> None:
        """Wait for a place's turn; ``patient`` waits however long it takes.

        Raises:
            ChannelError: the turn is more than five seconds away; others should not wait for it.
        """
        now = asyncio.get_running_loop().time()
        # Each call moves the place's clock on by one turn; it may lag by a burst.
        turn = max(self._free_at.get(place, 0.0), now - (self.burst - 1) * self.between_s)
        if turn - now > _LONGEST_TURN_S and not patient:
            raise ChannelError(self.rate, retry_after_ms=int((turn - now) * 1000))
        self._free_at[place] = turn + self.between_s
        self._forget(now)
        if turn > now:
            await asyncio.sleep(turn - now)

    def hold(self, place: str, seconds: float) -> None:
        """Leave a place alone for as long as Slack asked."""
        now = asyncio.get_running_loop().time()
        self._free_at[place] = max(self._free_at.get(place, 0.0), now + seconds)

    def _forget(self, now: float) -> None:
        if len(self._free_at) > _MOST_PLACES:
            oldest = now - self.burst * self.between_s
            self._free_at = {place: at for place, at in self._free_at.items() if at > oldest}


def of_messages() -> Pacing:
    """Return the pace of chat.postMessage, place by channel."""
    return Pacing(3, 1.0, "Slack takes one message a second for each channel.")


def of_edits() -> Pacing:
    """Return the pace of chat.update, which has one place: ten at once and 40 a minute make 50."""
    return Pacing(10, 1.5, "Slack takes 50 edits a minute.")

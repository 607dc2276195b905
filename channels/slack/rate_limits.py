"""Keep to the rates of a platform's methods (docs.slack.dev, "Rate limits").

Messages go to each channel once a second, in short bursts; edits are counted over the whole
workspace, 50 a minute (tier 3). So no final state has to wait for new prompts.
"""

from dataclasses import dataclass, field

from channels.pacing import Clock, Clocks, Rate, TurnFarOff
from core.errors import ChannelError


@dataclass(slots=True)
class Pacing:
    """The clocks of one method, and what the platform says about its rate."""

    rate: Rate
    words: str
    _clocks: Clocks = field(default_factory=Clocks)

    async def turn(self, place: str, *, patient: bool = False) -> Clock:
        """Wait for a place's turn and return its clock; ``patient`` waits however long it takes.

        Raises:
            ChannelError: the turn is far off; others should not wait for it.
        """
        clock = self._clocks.of(place, self.rate)
        try:
            await clock.take(patient=patient)
        except TurnFarOff as far:
            raise ChannelError(self.words, retry_after_ms=int(far.seconds * 1000)) from None
        return clock


def of_messages() -> Pacing:
    """Return the pace of chat.postMessage, counted per channel."""
    return Pacing(Rate(1.0, 3), "Slack takes one message a second for each channel.")


def of_edits() -> Pacing:
    """Return the pace of chat.update, counted as a whole: ten at once and 40 a minute make 50."""
    return Pacing(Rate(1.5, 10), "Slack takes 50 edits a minute.")

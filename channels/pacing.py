"""Pace messages by a platform's rate, so that no place holds up another.

A turn far off is left for the outbox to schedule: the refusal says how far.
"""

import asyncio
from dataclasses import dataclass, field

LONGEST_TURN_S = 5.0
"""Seconds that a message waits for its turn at most, unless it is patient."""

_MOST_CLOCKS = 1_000


def retry_after_ms(header: str) -> int | None:
    """Return the milliseconds of a Retry-After header in seconds; ``None`` for anything else."""
    return int(header) * 1000 if header.isascii() and header.isdigit() else None


@dataclass(frozen=True, slots=True)
class Rate:
    """One message every ``seconds``, of which ``burst`` may be sent at once."""

    seconds: float
    burst: int


class TurnFarOff(Exception):
    """A turn is too far off to wait for; ``seconds`` is how far."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the next turn is {seconds:.1f} s away")
        self.seconds = seconds


@dataclass(slots=True)
class Clock:
    """When the next message may be sent, by one rate; times are seconds of the event loop."""

    rate: Rate
    _free_at: float = 0.0
    _waiting: int = 0
    _line: asyncio.Lock = field(default_factory=asyncio.Lock)

    def turn(self, now: float) -> float:
        """Return when the next message may be sent; a time in the past means now."""
        return max(self._free_at, now - self.rate.seconds * (self.rate.burst - 1))

    def leave(self, now: float) -> None:
        """Record that a message is sent now."""
        self._free_at = self.turn(now) + self.rate.seconds

    def hold(self, seconds: float) -> None:
        """Hold all messages for this long, as the platform asked."""
        until = asyncio.get_running_loop().time() + seconds
        self._free_at = max(self._free_at, until)

    def idle(self, now: float) -> bool:
        """Return whether the clock is in the same state as a new one."""
        return not self._waiting and self._free_at < now - self.rate.seconds * self.rate.burst

    async def take(self, *, patient: bool) -> None:
        """Wait for a turn, in the order of the calls.

        Raises:
            TurnFarOff: it is too far off, and the message is not ``patient``.
        """
        loop = asyncio.get_running_loop()
        wait = self.turn(loop.time()) + self._waiting * self.rate.seconds - loop.time()
        if wait > LONGEST_TURN_S and not patient:
            raise TurnFarOff(wait)
        self._waiting += 1
        try:
            async with self._line:
                # Turns are not assigned in advance: after a stall of the loop, all would be sent in
                # one burst.
                while (turn := self.turn(loop.time())) > loop.time():  # noqa: ASYNC110 - a hold moves it
                    await asyncio.sleep(turn - loop.time())
                self.leave(loop.time())
        finally:
            self._waiting -= 1


class Clocks:
    """A clock for each place that is written to; idle ones are forgotten."""

    def __init__(self) -> None:
        self._by_place: dict[str, Clock] = {}

    def of(self, place: str, rate: Rate) -> Clock:
        """Return the clock of a place, a new one at its first message."""
        if len(self._by_place) > _MOST_CLOCKS:
            now = asyncio.get_running_loop().time()
            known = self._by_place.items()
            self._by_place = {name: clock for name, clock in known if not clock.idle(now)}
        return self._by_place.setdefault(place, Clock(rate))

    def __len__(self) -> int:
        """Return how many places have one."""
        return len(self._by_place)

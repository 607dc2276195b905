"""Count what each client uses against its limit, in a table of bounded size."""

from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from bot.api.http.errors import Fault, FaultCode

MOST_CLIENTS = 4096
_OTHERS = ""


@dataclass(slots=True)
class Buckets:
    """Token buckets by key: ``burst`` at once, then ``rate`` per second.

    At most ``most`` keys are remembered. When all of those are in use, further ones share a single
    bucket: a flood from many addresses slows newcomers, but causes no one's count to be forgotten.
    """

    rate: float
    burst: float
    most: int = MOST_CLIENTS
    _left: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, key: str, now: float) -> float:
        """Take one at ``now`` (monotonic seconds); return 0, or the seconds until it can be."""
        key = self._known(key, now)
        level = self._level(key, now)
        if level < 1:
            return (1 - level) / self.rate
        self._left[key] = (level - 1, now)
        self._left.move_to_end(key)
        return 0.0

    def empty(self, key: str, now: float) -> bool:
        """Return whether nothing is left for a key, without taking anything."""
        return self._level(self._known(key, now), now) < 1

    def __len__(self) -> int:
        return len(self._left)

    def _level(self, key: str, now: float) -> float:
        level, at = self._left.get(key, (self.burst, now))
        return min(self.burst, level + (now - at) * self.rate)

    def _known(self, key: str, now: float) -> str:
        """Return the key under which a client is counted; forget keys whose buckets are full."""
        if key in self._left or len(self._left) < self.most:
            return key
        oldest = next(iter(self._left))
        if self._level(oldest, now) < self.burst:
            return _OTHERS
        del self._left[oldest]
        return key


@dataclass(slots=True)
class Slots:
    """A number of places; a client that finds none is refused at once, without a queue."""

    most: int
    used: int = 0

    def enter(self) -> bool:
        """Take a place; ``False`` if none is free."""
        if self.used >= self.most:
            return False
        self.used += 1
        return True

    def leave(self) -> None:
        """Give the place back."""
        self.used -= 1


@dataclass(slots=True)
class Places:
    """Places of which each client may hold as many as are free, however many requests it makes.

    So one client gets half, two get a third each, and a few together never keep the others out
    (dynamic thresholds, Choudhury and Hahne 1998). Only clients that hold one have an entry in the
    table.
    """

    most: int
    _held: Counter[str] = field(default_factory=Counter)

    def enter(self, client: str) -> bool:
        """Take a place for a client; ``False`` if it holds as many as are left."""
        if self._held[client] >= self.most - self._held.total():
            return False
        self.hold(client)
        return True

    def hold(self, client: str) -> None:
        """Take the place that another client has just left, even above this client's share."""
        self._held[client] += 1

    def held_by(self, client: str) -> int:
        """Return how many places a client holds."""
        return self._held[client]

    def leave(self, client: str) -> None:
        """Give a client's place back."""
        self._held[client] -= 1
        if not self._held[client]:
            del self._held[client]

    @contextmanager
    def place(self, client: str) -> Iterator[None]:
        """Hold a place for as long as the block lasts.

        Raises:
            Fault: there is none for this client.
        """
        if not self.enter(client):
            words = "Too many open requests, in total or by this client."
            raise Fault(FaultCode.UNAVAILABLE, words, {"Retry-After": "1"})
        try:
            yield
        finally:
            self.leave(client)

    def __len__(self) -> int:
        return len(self._held)

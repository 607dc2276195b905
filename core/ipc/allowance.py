"""Bound what is read of one peer: reading what it says occupies the process."""

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Allowance:
    """A peer may say ``burst`` bytes at once, then ``rate`` a second.

    A message counts as ``message`` bytes besides its own: tiny ones cost most.
    """

    rate: float
    burst: float
    message: int = 512
    _left: float = field(init=False)
    _at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Begin with all of it."""
        self._left = self.burst

    def take(self, size: int, messages: int) -> float:
        """Take what was read; return the seconds for which nothing more is to be."""
        now = time.monotonic()
        grown = self._left + (now - self._at) * self.rate
        self._left = min(self.burst, grown) - size - messages * self.message
        self._at = now
        return max(0.0, -self._left / self.rate)

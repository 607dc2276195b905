"""Limit how much is read from one peer, because reading it occupies the process."""

import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class Allowance:
    """A peer may send ``burst`` bytes at once, then ``rate`` per second.

    A message counts as ``message`` bytes in addition to its own: tiny ones cost most.
    """

    rate: float
    burst: float
    message: int = 512
    _left: float = field(init=False)
    _at: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        """Begin with the full burst."""
        self._left = self.burst

    def take(self, size: int, messages: int) -> float:
        """Deduct what was read; return for how many seconds to read nothing more."""
        now = time.monotonic()
        grown = self._left + (now - self._at) * self.rate
        self._left = min(self.burst, grown) - size - messages * self.message
        self._at = now
        return max(0.0, -self._left / self.rate)

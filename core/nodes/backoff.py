"""Wait longer after each failure, and never in step with others."""

import random
from dataclasses import dataclass

_FIRST_S, _LONGEST_S = 0.5, 15.0
_STEADY_S = 10.0


@dataclass(slots=True)
class Backoff:
    """Pauses between tries: each up to twice as long as the last, half of it random."""

    next_s: float = _FIRST_S

    def pause(self) -> float:
        """Return how many seconds to wait now."""
        longest, self.next_s = self.next_s, min(self.next_s * 2, _LONGEST_S)
        return longest / 2 + random.uniform(0, longest / 2)  # noqa: S311 - it guards nothing

    def held(self, seconds: float) -> None:
        """Start over if a connection has held for long; one that is cut at once is a failure."""
        if seconds >= _STEADY_S:
            self.next_s = _FIRST_S

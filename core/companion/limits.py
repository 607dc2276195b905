"""Bound what clients of a companion may do: how often, and how many at a time."""

import time
from collections import OrderedDict
from dataclasses import dataclass, field

BURST = 40
"""Connections that one process may open at once."""
A_SECOND = 10.0
"""Connections that one process may open in the long run."""
MOST_WAITING = 64
"""Connections that have not authenticated; the oldest gives way to a further one."""
MOST_OPEN = 64
"""Dialogs that wait for an answer."""
_MOST_PROCESSES = 1_024


@dataclass(slots=True)
class RateLimit:
    """A bucket for each process that connects; of very many the oldest are forgotten."""

    burst: float = BURST
    a_second: float = A_SECOND
    _left: OrderedDict[int, tuple[float, float]] = field(default_factory=OrderedDict)

    def take(self, pid: int, now_s: float | None = None) -> bool:
        """Return whether a process may connect once more; ``now_s`` is monotonic."""
        now = time.monotonic() if now_s is None else now_s
        left, at = self._left.pop(pid, (self.burst, now))
        left = min(self.burst, left + max(0.0, now - at) * self.a_second)
        allowed = left >= 1
        self._left[pid] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST_PROCESSES:
            self._left.popitem(last=False)
        return allowed

"""Notice a run that multiplies without end (a fork bomb).

Limits apply to one process, so a thousand of them have a thousand times as much. RLIMIT_NPROC
counts all that a user has, Sayso's own included, and root is exempt; so the run is counted instead.
Counting is expensive (30 µs each), asking how many the machine has is cheap: the run is counted
only if that has jumped.
"""

import os

from core.runner.supervisor.processes import procfs

_BETWEEN_LOOKS_S = 0.1


class ProcessLimit:
    """The number of processes that a run may have at a time, checked ten times a second."""

    __slots__ = ("_calm", "_most", "_next")

    def __init__(self) -> None:
        self._most = self._calm = 0
        self._next = 0.0

    def begin(self, most: int, now: float) -> None:
        """Count a new run's processes from now on (monotonic seconds)."""
        self._most = most
        self._next = now + _BETWEEN_LOOKS_S

    def settle(self) -> None:
        """Record how many the machine has now, without a run of ours."""
        self._calm = procfs.threads()

    def until(self, deadline: float) -> float:
        """Return when to check next, or an earlier deadline (monotonic seconds)."""
        return min(deadline, self._next)

    def is_there(self, now: float) -> bool:
        """Return whether the run has more processes than it may have (monotonic seconds)."""
        if now < self._next:
            return False
        self._next = now + _BETWEEN_LOOKS_S
        there = procfs.threads()
        self._calm = min(self._calm, there)
        if there - self._calm <= self._most:
            return False
        own = procfs.count_descendants(os.getpid(), self._most)
        self._calm = there - own
        return own > self._most

"""Count what happened to other machines' requests, for `sayso diagnostics exec` (S4)."""

import time
from collections import Counter, deque
from dataclasses import dataclass, field

from core.remote.denials import Notice, RemoteDenial

_MOST_RECENT = 50
PREFIX = 8
"""Hex digits of an id that diagnostics show."""


@dataclass(frozen=True, slots=True)
class Recent:
    """A warning of a run that ended recently; ``at_ms`` is epoch ms, ``agent`` a short prefix."""

    at_ms: int
    agent: str
    warning: Notice


@dataclass(slots=True)
class Counters:
    """Numbers since the start, and the latest warnings."""

    started: int = 0
    finished: int = 0
    unheard: int = 0
    denied: Counter[RemoteDenial] = field(default_factory=Counter)
    notices: Counter[Notice] = field(default_factory=Counter)
    truncated: int = 0
    recent: deque[Recent] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))

    def deny(self, reason: RemoteDenial) -> None:
        """Count a denial."""
        self.denied[reason] += 1

    def end(self, agent_id: str, warnings: tuple[Notice, ...], *, truncated: bool) -> None:
        """Count the end of a run and what was odd about it."""
        self.finished += 1
        self.truncated += truncated
        self.notices.update(warnings)
        now = time.time_ns() // 1_000_000
        self.recent.extend(Recent(now, agent_id[:PREFIX], warning) for warning in warnings)


@dataclass(slots=True)
class Strangers:
    """Limit strangers: beyond a burst, only a few per second get an answer.

    Each denial costs a wait for the disk and a line in the log; without a limit, anyone who reaches
    the port could fill it. A stranger without an answer gets no entry either, but is counted.
    """

    burst: float = 100.0
    a_second: float = 5.0
    _left: float = 100.0
    _at: float = field(default_factory=time.monotonic)

    def answered(self) -> bool:
        """Use up one answer, if one is left."""
        now = time.monotonic()
        self._left = min(self.burst, self._left + (now - self._at) * self.a_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

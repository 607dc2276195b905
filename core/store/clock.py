"""Tell the time by the database's clock, which never goes back (DESIGN §1 rule 5).

A wall clock that steps back would let every open prompt live longer, and a restart after the
step would let it live again. So time is the greatest of the wall clock, a mark kept in the
database, and the last reading plus what the steady clock counted since.
"""

import threading
import time
from collections.abc import Callable

from sqlalchemy import Connection, func, select

from core.store.context import context_of

Milliseconds = Callable[[], int]
_SELECT_NOW = select(func.sayso_now())


def wall_ms() -> int:
    """Return the wall clock as epoch ms."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """Return a clock in ms that no one can set."""
    return time.monotonic_ns() // 1_000_000


class HighWater:
    """A clock in epoch ms that never goes back while the process lives; safe in threads."""

    def __init__(self, wall: Milliseconds = wall_ms, steady: Milliseconds = steady_ms) -> None:
        self._wall = wall
        self._steady = steady
        self._lock = threading.Lock()
        self._seen_steady = steady()
        self._high = wall()

    def __call__(self) -> int:
        """Return the time; never less than the last call returned."""
        with self._lock:
            steady = self._steady()
            passed = steady - self._seen_steady
            self._high = max(self._wall(), self._high + passed)
            self._seen_steady = steady
            return self._high

    def raise_to(self, mark_ms: int) -> None:
        """Never again tell a time before the mark (epoch ms), read from the database at start."""
        with self._lock:
            self._high = max(self._high, mark_ms)


def now_ms(conn: Connection) -> int:
    """Return the database's time as epoch ms; never less than it told before."""
    clock = context_of(conn).clock
    if clock is not None:
        return clock()
    return int(conn.execute(_SELECT_NOW).scalar_one())

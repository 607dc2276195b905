"""Read the time from the database's clock, which no step of a wall clock moves (invariant 5).

Deadlines are lengths of time that were promised to people. A wall clock that steps back would let
every open prompt live longer, one that steps forward would end them all at once. So the wall clock
is read once, and from then on time passes by the steady clock, which nobody can set and which
counts a sleep. It continues from the mark that the database keeps, even after a restart.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, select

from core.store.engine.context import context_of

Milliseconds = Callable[[], int]
READ_MARK: Final = "SELECT high_ms, steady, steady_ms FROM clock WHERE id = 1"
_SELECT_NOW = select(func.sayso_now())


def wall_ms() -> int:
    """Return the wall clock as epoch ms."""
    return time.time_ns() // 1_000_000


def steady_ms() -> int:
    """Return a clock in ms that no one can set, and that keeps running while the machine sleeps."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000


def steady_name() -> str:
    """Return what names the steady clock: the kernel's boot and the time namespace.

    ``""`` where the kernel does not say: then no mark is known to be of this clock.
    """
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {_time_namespace()}"
    except OSError:
        return ""


def _time_namespace() -> str:
    try:
        return str(Path("/proc/self/ns/time").readlink())
    except FileNotFoundError:  # a kernel before 5.6 has one for all
        return ""


@dataclass(frozen=True, slots=True)
class Mark:
    """What the database keeps: the time (epoch ms) at a reading of the steady clock ``steady``."""

    high_ms: int
    steady: str | None = None
    steady_ms: int | None = None


class HighWater:
    """A clock in epoch ms that steps of the wall clock do not move; thread-safe.

    ``name`` names the steady clock; without one, no mark is of it.
    """

    def __init__(
        self, wall: Milliseconds = wall_ms, steady: Milliseconds = steady_ms, name: str = ""
    ) -> None:
        self._wall = wall
        self._steady = steady
        self._name = name
        self._lock = threading.Lock()
        self._high = wall()
        self._ahead = self._high - steady()

    def __call__(self) -> int:
        """Return the time; never less than the last call returned."""
        with self._lock:
            self._high = max(self._high, self._steady() + self._ahead)
            return self._high

    def mark(self) -> Mark:
        """Return the time with the reading of the steady clock that belongs to it."""
        with self._lock:
            steady = self._steady()
            self._high = max(self._high, steady + self._ahead)
            return Mark(self._high, self._name, steady)

    def take_up(self, mark: Mark, *, idle: bool = False) -> None:
        """Continue from the mark that the database kept; called once, before anybody asks.

        With the same steady clock, the time since the mark is known. Otherwise, and with ``idle``
        (nothing waits for a deadline), a wall clock that is ahead counts. Never before the mark.
        """
        steady, wall = self._steady(), self._wall()
        with self._lock:
            now = max(mark.high_ms, wall)
            if self._is_mine(mark, steady) and mark.steady_ms is not None:
                passed = mark.high_ms + steady - mark.steady_ms
                now = max(passed, wall) if idle else passed
            self._high, self._ahead = now, now - steady

    def _is_mine(self, mark: Mark, steady: int) -> bool:
        known = mark.steady_ms is not None and mark.steady_ms <= steady
        return known and bool(self._name) and mark.steady == self._name


def now_ms(conn: Connection) -> int:
    """Return the database's time as epoch ms; never less than it returned before."""
    context = context_of(conn)
    if context.clock is not None:
        return context.clock()
    if context.followed is not None:
        return context.followed.now(conn)
    return int(conn.execute(_SELECT_NOW).scalar_one())

"""Notice a step of PostgreSQL's wall clock by this gateway's steady clock, and take it back.

::

    sayso_now() = greatest(the server's wall clock + offset_ms, high_ms)    one row for all gateways

Each answer of that clock is compared with the steady clock before it is used. If the server's
clock was set meanwhile, the gateway that notices changes ``offset_ms`` by as much, so that time
goes on as if nothing had happened, for all of them. ``high_ms`` is raised each second by gateways
that found nothing wrong: a gateway whose own steady clock stood still (a virtual machine that its
host stopped) is behind it, and believes the database. So does one that finds another offset than
it knew.
"""

from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, exists, extract, func, select
from sqlalchemy.sql import cast

from core.store.clock import Milliseconds
from core.store.tables import IS_PENDING, approvals, clock, replicas

SLACK_MS: Final = 500
"""The shortest step that is noticed; what is shorter may be the way to the server and back."""
_QUICK_MS: Final = 100
_ROW = clock.c.id == 1
_ASK = select(func.sayso_now(), clock.c.high_ms, clock.c.offset_ms).where(_ROW)
_EXPECTED = bindparam("p_expected", type_=BigInteger)
_WALL = cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)
_CORRECT = (
    clock.update()
    # Of several gateways that notice the same step one corrects it: the row is locked.
    .where(
        _ROW,
        clock.c.offset_ms == bindparam("p_known"),
        clock.c.high_ms <= _EXPECTED + SLACK_MS,
    )
    .values(offset_ms=_EXPECTED - _WALL, high_ms=func.greatest(clock.c.high_ms, _EXPECTED))
)
_MARK = (
    clock.update()
    .where(_ROW, clock.c.high_ms < bindparam("p_now"), clock.c.offset_ms == bindparam("p_known"))
    .values(high_ms=bindparam("p_now"))
)
_WAITS = exists().where(IS_PENDING).select_from(approvals)
_OTHERS_LIVE = exists().where(replicas.c.expires_ms > func.sayso_now())
_TAKE_UP = (
    clock.update().where(_ROW, clock.c.offset_ms < 0, ~_WAITS, ~_OTHERS_LIVE).values(offset_ms=0)
)


class ClockStepped(Exception):
    """Somebody set the database's clock; correct it, and do the operation again."""


def take_up(conn: Connection) -> None:
    """Believe a server's clock that was set forward, at a start at which nothing waits for it."""
    conn.execute(_TAKE_UP)


class Followed:
    """The database's clock as one gateway follows it."""

    def __init__(self, steady: Milliseconds) -> None:
        self._steady = steady
        self._ahead: int | None = None  # what the steady clock lacks to the database's time
        self._offset = 0

    def now(self, conn: Connection) -> int:
        """Return the database's time (epoch ms).

        Raises:
            ClockStepped: it is not where the steady clock expects it.
        """
        before = self._steady()
        now, high, offset = conn.execute(_ASK).one()
        after = self._steady()
        if self._ahead is None or offset != self._offset:
            self._believe(now, offset, before, after)
        early, late = before + self._ahead_ms - SLACK_MS, after + self._ahead_ms + SLACK_MS
        if high > late:
            self._believe(now, offset, before, after)
        elif not early <= now <= late:
            raise ClockStepped
        elif after - before <= _QUICK_MS:
            self._believe(now, offset, before, after)  # both clocks are never quite alike
        return int(now)

    def correct(self, conn: Connection) -> None:
        """Take the step back; where that is not to be had, believe the database from now on."""
        known, expected = self._offset, self._steady() + self._ahead_ms
        conn.execute(_CORRECT, {"p_expected": expected, "p_known": known})
        before = self._steady()
        now, _, offset = conn.execute(_ASK).one()
        self._believe(now, offset, before, self._steady())

    def mark(self, conn: Connection) -> None:
        """Keep the time in the database, where this gateway finds it right."""
        conn.execute(_MARK, {"p_now": self.now(conn), "p_known": self._offset})

    @property
    def _ahead_ms(self) -> int:
        return self._ahead or 0

    def _believe(self, now: int, offset: int, before: int, after: int) -> None:
        self._ahead, self._offset = int(now) - (before + after) // 2, int(offset)

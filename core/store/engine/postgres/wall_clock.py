"""Notice a step of PostgreSQL's wall clock by this gateway's steady clock, and undo it.

::

    sayso_now() = greatest(the server's wall clock + offset_ms, high_ms)    one row for all gateways

Each answer of that clock is compared with the steady clock before it is used. If the server's
clock was set meanwhile, the gateway that notices changes ``offset_ms`` by as much, so that time
continues as if nothing had happened, for all of them. ``high_ms`` is raised each second by gateways
that found nothing wrong: a gateway whose own steady clock stood still (a virtual machine that its
host stopped) is behind it, and believes the database.

The clock itself is compared, not what ``high_ms`` makes of it: a clock that was set back less than
that long after a mark would stand still at the mark, and seem to be right at each check.

No answer is believed for its offset alone: it may be from before a correction that was
committed meanwhile. A correction is believed once it is committed, and one is made at a time.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import BigInteger, Connection, bindparam, exists, extract, func, select
from sqlalchemy.sql import cast

from core.store.engine.clock import Milliseconds
from core.store.schema.tables import IS_PENDING, approvals, clock, replicas

SLACK_MS: Final = 500
"""The shortest step that is noticed; what is shorter may be the round trip to the server."""
_QUICK_MS: Final = 100
_ROW = clock.c.id == 1
_WALL = cast(extract("epoch", func.clock_timestamp()) * 1000, BigInteger)
_ASK = select(_WALL + clock.c.offset_ms, clock.c.high_ms, clock.c.offset_ms).where(_ROW)
_EXPECTED = bindparam("p_expected", type_=BigInteger)
_CORRECT = (
    clock.update()
    # Of several gateways that notice the same step one corrects it: the row is locked.
    .where(
        _ROW,
        clock.c.offset_ms == bindparam("p_known"),
        clock.c.high_ms <= _EXPECTED + SLACK_MS,
    )
    .values(
        offset_ms=clock.c.offset_ms + bindparam("p_by", type_=BigInteger),
        high_ms=func.greatest(clock.c.high_ms, _EXPECTED),
    )
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
    """Somebody set the database's clock; correct it, and repeat the operation."""


def take_up(conn: Connection) -> None:
    """Believe a server's clock that was set forward, at a start at which nothing waits for it."""
    conn.execute(_TAKE_UP)


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer of the database's clock, and the steady clock before and after it.

    ``wall`` has the offset in it. It may be behind ``high``: then the clock was set back.
    """

    wall: int
    high: int
    offset: int
    before: int
    after: int

    @property
    def now(self) -> int:
        """The database's time, which never goes back."""
        return max(self.wall, self.high)

    @property
    def middle(self) -> int:
        """The steady clock when the answer was made, as far as that is known."""
        return (self.before + self.after) // 2

    @property
    def is_quick(self) -> bool:
        """Whether the round trip to the server was short enough to compare the clocks by it."""
        return self.after - self.before <= _QUICK_MS

    def is_at(self, ahead: int) -> bool:
        """Return whether it is the steady clock's time plus how far that one is behind."""
        return self.before + ahead - SLACK_MS <= self.wall <= self.after + ahead + SLACK_MS


class Followed:
    """The database's clock as one gateway follows it."""

    def __init__(self, steady: Milliseconds) -> None:
        self._steady = steady
        self._ahead: int | None = None  # how far the database's time is ahead of the steady clock
        self._offset = 0

    def now(self, conn: Connection) -> int:
        """Return the database's time (epoch ms).

        Raises:
            ClockStepped: it is not where the steady clock expects it.
        """
        seen = self._look(conn)
        ahead = self._expected_from(seen)
        if not seen.is_at(ahead):
            raise ClockStepped
        if seen.is_quick or seen.offset != self._offset:
            # The two clocks never quite agree.
            self.believe(seen)
        return seen.now

    def correct(self, conn: Connection) -> Seen:
        """Undo the step; return what is to be believed once that is committed.

        Where it cannot be undone, that is the database's own time.
        """
        seen = self._look(conn)
        ahead = self._expected_from(seen)
        if seen.is_at(ahead):
            return seen  # somebody else has undone it
        # By how much it is off, not where it should be: then the way to the server costs no time.
        by = seen.middle + ahead - seen.wall
        conn.execute(_CORRECT, {"p_expected": seen.wall + by, "p_by": by, "p_known": seen.offset})
        return self._look(conn)

    def believe(self, seen: Seen) -> None:
        """Expect the time to continue from there."""
        self._ahead, self._offset = seen.wall - seen.middle, seen.offset

    def mark(self, conn: Connection) -> None:
        """Keep the time in the database, where this gateway finds it right."""
        conn.execute(_MARK, {"p_now": self.now(conn), "p_known": self._offset})

    def _look(self, conn: Connection) -> Seen:
        before = self._steady()
        wall, high, offset = conn.execute(_ASK).one()
        return Seen(int(wall), int(high), int(offset), before, self._steady())

    def _expected_from(self, seen: Seen) -> int:
        """Return how far the time is ahead of the steady clock; by the mark if that is further."""
        if self._ahead is None:
            self._ahead, self._offset = seen.now - seen.middle, seen.offset
        if seen.high > seen.after + self._ahead + SLACK_MS:
            self._ahead = seen.high - seen.middle
        return self._ahead

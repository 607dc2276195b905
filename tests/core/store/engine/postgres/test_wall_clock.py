"""Correct the database's clock as a gateway believes it."""

from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Connection

from core.store import open_store
from core.store.engine.postgres.wall_clock import SLACK_MS, ClockStepped, Followed
from core.store.schema.tables import clock

HOUR_MS, MINUTE_MS = 3_600_000, 60_000


@dataclass
class Answers:
    """A connection whose clock gives these answers: wall clock with offset, mark, offset."""

    rows: list[tuple[int, int, int]]
    made: list[dict[str, Any]] = field(default_factory=list)

    def execute(self, _statement: object, values: dict[str, Any] | None = None) -> "Answers":
        """Record a correction; a query is answered by ``one``."""
        if values is not None:
            self.made.append(values)
        return self

    def one(self) -> tuple[int, int, int]:
        """Return the next answer."""
        return self.rows.pop(0)


@pytest.fixture
def followed() -> Followed:
    """Return a clock that was seen at 1,000,000 ms, with a steady clock at 0."""
    one = Followed(lambda: 0)
    one.now(Answers([(1_000_000, 1_000_000, 0)]))  # type: ignore[arg-type]
    return one


def corrected(one: Followed, seen: int) -> None:
    """Undo a step, as the transaction of a correction does, and commit it."""
    back = Answers([(seen, 1_000_000, 0), (1_000_000, 1_000_000, 1_000_000 - seen)])
    one.believe(one.correct(back))  # type: ignore[arg-type]
    assert back.made[0]["p_by"] == 1_000_000 - seen


@pytest.mark.parametrize("step", [HOUR_MS, -HOUR_MS])
def test_an_answer_from_before_a_correction_is_not_believed(followed: Followed, step: int) -> None:
    """It has the offset of that time, and the stepped clock: nothing may be decided by it."""
    stale = (1_000_000 + step, 1_000_000, 0)
    corrected(followed, stale[0])

    with pytest.raises(ClockStepped):
        followed.now(Answers([stale]))  # type: ignore[arg-type]


def test_an_answer_after_a_correction_is_believed(followed: Followed) -> None:
    """The control: its offset is new as well, and its time runs; so is another gateway's."""
    corrected(followed, 1_000_000 + HOUR_MS)
    for offset in (-HOUR_MS, -HOUR_MS + 3):
        answer = Answers([(1_000_010, 1_000_000, offset)])
        assert followed.now(answer) == 1_000_010  # type: ignore[arg-type]


def test_a_correction_is_not_believed_before_it_is_committed(followed: Followed) -> None:
    """Until then others read the offset from before it."""
    stepped = (1_000_000 - HOUR_MS, 1_000_000, 0)
    followed.correct(Answers([stepped, (1_000_000, 1_000_000, HOUR_MS)]))  # type: ignore[arg-type]
    with pytest.raises(ClockStepped):
        followed.now(Answers([stepped]))  # type: ignore[arg-type]


def test_a_mark_that_is_further_is_believed() -> None:
    """A gateway whose steady clock stopped follows what the others have kept."""
    one = Followed(lambda: 0)
    one.now(Answers([(1_000_000, 1_000_000, 0)]))  # type: ignore[arg-type]
    later = (1_000_000 + HOUR_MS, 1_000_000 + HOUR_MS - 20, 0)
    assert one.now(Answers([later])) == later[0]  # type: ignore[arg-type]


@pytest.mark.parametrize("further", [0, SLACK_MS])
async def test_a_step_is_undone_where_the_mark_is_not_further_than_the_slack(
    postgres_url: str, further: int
) -> None:
    """Such a mark is not believed either, so the step would be: nobody else is left to undo it."""

    def stepped(conn: Connection) -> int:
        one = Followed(lambda: 0)
        before = one.now(conn)
        conn.execute(clock.update().values(offset_ms=HOUR_MS, high_ms=before + further))
        return one.correct(conn).wall - before

    store = await open_store(postgres_url)
    try:
        assert abs(await store.write(stepped)) < MINUTE_MS
    finally:
        await store.close()

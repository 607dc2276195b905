"""Time never goes back, whatever the wall clock does."""

from pathlib import Path

from core.model.approval import ApprovalState
from core.store import approvals, open_store
from core.store.clock import HighWater
from tests.core.store.bench import ManualClock
from tests.core.store.making import ALICE, HALF_HOUR, MINUTE, ONCE, draft

HOUR = 60 * MINUTE


def test_a_step_back_stops_nothing() -> None:
    """With the wall clock an hour back, time goes on by the steady clock."""
    wall, steady = ManualClock(), ManualClock(0)
    clock = HighWater(wall, steady)
    begun = clock()
    wall.ms -= HOUR
    steady.ms += 5_000
    assert clock() == begun + 5_000


def test_a_step_forward_is_followed() -> None:
    """After a suspended night, the wall clock counts."""
    wall, steady = ManualClock(), ManualClock(0)
    clock = HighWater(wall, steady)
    wall.ms += HOUR
    assert clock() == wall.ms


def test_a_mark_from_the_future_is_kept() -> None:
    """The database saw a later time than the wall clock tells: nothing is resurrected."""
    wall = ManualClock()
    clock = HighWater(wall, lambda: 0)
    clock.raise_to(wall.ms + HOUR)
    assert clock() == wall.ms + HOUR


async def test_a_restart_behind_a_step_back_resurrects_nothing(tmp_path: Path) -> None:
    """The deadline had come; the clock is set back an hour and the gateway restarted."""
    clock, url = ManualClock(), f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url, clock=clock)
    question = draft(timeout_ms=HALF_HOUR)
    await store.write(approvals.create, question)
    clock.ms += HALF_HOUR + 1
    await store.close()
    clock.ms -= HOUR
    store = await open_store(url, clock=clock)
    answer = await store.write(approvals.answer, question.id, ONCE, ALICE, None)
    await store.close()
    assert answer is not None
    assert answer.approval.resolution is not None
    assert answer.approval.resolution.state is ApprovalState.EXPIRED


async def test_a_crash_behind_a_step_back_regains_ten_seconds_at_most(tmp_path: Path) -> None:
    """Without an orderly end the mark is as old as the idle interval, never older."""
    clock, url = ManualClock(), f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url, clock=clock)
    for _ in range(60):
        clock.ms += 1_000
        await store.write(approvals.expire_due)
    crashed = clock.ms
    copy = tmp_path / "crashed"  # what a crash at this moment would leave
    copy.mkdir()
    for name in ("state.db", "state.db-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    await store.close()
    clock.ms -= HOUR
    store = await open_store(f"sqlite:///{copy}/state.db", clock=clock)
    question = draft(timeout_ms=MINUTE)
    made = (await store.write(approvals.create, question)).approval
    await store.close()
    assert crashed - 10_000 <= made.created_ms <= crashed

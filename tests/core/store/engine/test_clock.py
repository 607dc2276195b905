"""Let time pass by the steady clock, whatever the wall clock does, and never go back."""

import time
from pathlib import Path

import pytest
import time_machine

from core.model.approval import ApprovalState
from core.store import approvals, open_store
from core.store.engine.clock import HighWater, Mark, now_ms, steady_ms
from tests.support.store_records import ALICE, HALF_HOUR, MINUTE, ONCE, draft
from tests.support.stores import ManualClock

HOUR = 60 * MINUTE


def test_a_step_back_stops_nothing() -> None:
    """With the wall clock an hour back, time follows the steady clock."""
    wall, steady = ManualClock(), ManualClock(0)
    clock = HighWater(wall, steady)
    begun = clock()
    wall.ms -= HOUR
    steady.ms += 5_000
    assert clock() == begun + 5_000


def test_a_step_forward_ends_nothing() -> None:
    """With the wall clock an hour ahead, time follows the steady clock."""
    wall, steady = ManualClock(), ManualClock(0)
    clock = HighWater(wall, steady)
    begun = clock()
    wall.ms += HOUR
    steady.ms += 5_000
    assert clock() == begun + 5_000


def test_the_steady_clock_counts_a_sleep() -> None:
    """It is the kernel's clock that keeps running while the machine is suspended."""
    before = time.clock_gettime(time.CLOCK_BOOTTIME) * 1000
    found = steady_ms()
    assert int(before) <= found <= time.clock_gettime(time.CLOCK_BOOTTIME) * 1000


def test_a_mark_from_the_future_is_kept() -> None:
    """The database saw a later time than the wall clock shows: nothing is resurrected."""
    wall, steady = ManualClock(), ManualClock(7)
    clock = HighWater(wall, steady)
    clock.take_up(Mark(wall.ms + HOUR))
    steady.ms += 10
    assert clock() == wall.ms + HOUR + 10


@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_a_restart_goes_on_from_the_mark(step: int) -> None:
    """Set while no gateway ran: the time since the mark is what the same steady clock counted."""
    wall, steady = ManualClock(), ManualClock(7)
    first = HighWater(wall, steady, "this boot")
    mark, begun = first.mark(), first()
    wall.ms += step
    steady.ms += 3_000
    again = HighWater(wall, steady, "this boot")
    again.take_up(mark)
    assert again() == begun + 3_000


@pytest.mark.parametrize(("name", "steady_at"), [("", 5), ("another boot", 5), ("this boot", 8)])
def test_a_mark_of_another_steady_clock_tells_no_more_than_its_time(
    name: str, steady_at: int
) -> None:
    """After a reboot, in another time namespace, or if it went back: the wall clock counts."""
    wall, steady = ManualClock(), ManualClock(7)
    clock = HighWater(wall, steady, "this boot" if name else "")
    clock.take_up(Mark(wall.ms - HOUR, name, steady_at))
    assert clock() == wall.ms


def test_a_start_at_which_nothing_waits_takes_a_later_wall_clock_up() -> None:
    """A machine that got the true time late shows it after a restart; an earlier one never."""
    wall, steady = ManualClock(), ManualClock(7)
    mark = HighWater(wall, steady, "this boot").mark()
    times = []
    for step in (HOUR, -HOUR):
        stepped = ManualClock(wall.ms + step)
        clock = HighWater(stepped, steady, "this boot")
        clock.take_up(mark, idle=True)
        times.append(clock())
    assert times == [wall.ms + HOUR, wall.ms]


@pytest.mark.parametrize("waits", [True, False])
async def test_a_store_knows_whether_something_waits(tmp_path: Path, *, waits: bool) -> None:
    """An open prompt keeps its whole time over a restart after a step forward."""
    url = f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url)
    if waits:
        await store.write(approvals.create, draft(timeout_ms=MINUTE))
    begun = await store.write(now_ms)
    await store.close()
    with time_machine.travel(time.time() + HOUR / 1000):
        store = await open_store(url)
        again = await store.read(now_ms)
        ended = await store.write(approvals.expire_due)
        await store.close()
    assert ended == ()
    assert (again - begun < MINUTE) is waits


async def test_a_restart_behind_a_step_back_resurrects_nothing(tmp_path: Path) -> None:
    """The deadline had passed; the clock is set back an hour and the gateway restarted."""
    clock, url = ManualClock(), f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url, clock=clock)
    question = draft(timeout_ms=HALF_HOUR)
    await store.write(approvals.create, question)
    clock.ms += HALF_HOUR + 1
    await store.close()
    clock.ms -= HOUR
    store = await open_store(url, clock=clock)
    answer = await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
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

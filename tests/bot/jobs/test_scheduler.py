"""Wake the clock on time, even after being late, and stop it quietly."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from bot.jobs import scheduler
from bot.jobs.scheduler import Clock
from bot.jobs.week_time import WeekTime
from tests.support.clock_work import Work
from tests.support.waiting import until


@asynccontextmanager
async def running(work: Work, long_s: float = 60) -> AsyncIterator[Clock]:
    """Run a clock over some work."""
    clock = Clock(work, long_s)
    clock.start()
    try:
        yield clock
    finally:
        clock.stop()


@pytest.fixture
def unswept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no sweep be among what a test counts, however long the machine freezes."""
    monkeypatch.setattr(scheduler, "_SWEEP_S", 60.0)


async def test_wakes_at_the_armed_time() -> None:
    """An armed deadline is met within a few milliseconds of the loop's own, and not before."""
    work, loop = Work(), asyncio.get_running_loop()
    woken_ms: list[int] = []
    async with running(work) as clock:
        at_ms = round(time.time() * 1000) + 300
        clock.arm(300)
        loop.call_later(0.3, lambda: woken_ms.append(round(time.time() * 1000)))
        await until(lambda: work.dues and woken_ms)

    assert at_ms <= work.dues[0] < woken_ms[0] + 150


async def test_an_earlier_deadline_wins(unswept: None) -> None:
    """A nearer deadline moves the wake-up; a later one does not."""
    work = Work()
    async with running(work) as clock:
        clock.arm(60_000)
        clock.arm(200)
        clock.arm(30_000)
        await until(lambda: work.dues, 20)
        assert not clock.armed

    assert 1 == len(work.dues)


async def test_a_committed_deadline_is_looked_at(unswept: None) -> None:
    """The store's note about a deadline triggers a check at once; other notes do not."""
    work = Work()
    async with running(work) as clock:
        clock.hear("approval:x")
        await asyncio.sleep(0.1)
        before = len(work.dues)
        clock.hear("deadline")
        await until(lambda: work.dues)

    assert 0 == before
    assert 1 == len(work.dues)


async def test_sweeps_each_second_also_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A sweep that fails is logged, and the next one still runs."""
    work, loop = Work(fails=1), asyncio.get_running_loop()
    seconds: list[float] = []

    def tick() -> None:
        seconds.append(loop.time())
        loop.call_later(1, tick)

    async with running(work):
        loop.call_later(1, tick)
        await until(lambda: work.beats and len(work.dues) > 1)
        assert abs(len(work.dues) - len(seconds)) <= 1

    assert 1 == work.beats
    assert "sweep" in caplog.text
    assert "clock_work.py" in caplog.text, "the log says where"


@pytest.mark.parametrize("to", [timedelta(hours=1), timedelta(days=-7, seconds=-3)])
async def test_the_calendar_follows_a_wall_clock_that_was_set(to: timedelta) -> None:
    """Set past the moment, or to just before last week's: it is met."""
    turns: list[datetime] = []

    async def job() -> None:
        turns.append(datetime.now(UTC))

    moment = datetime.now(UTC).replace(microsecond=0) + timedelta(minutes=30)
    at = WeekTime(UTC, moment.weekday(), moment.hour, moment.minute, moment.second)
    async with running(Work()) as clock:
        clock.weekly("job", at, job, jitter_s=0, soon_s=3600)
        with time_machine.travel(moment + to):
            await until(lambda: bool(turns))
            assert turns[0] >= moment + max(to, timedelta(days=-7))


async def test_a_late_loop_loses_nothing(unswept: None) -> None:
    """A deadline that the loop could not serve in time is served late, not dropped.

    The library's own default would drop it after one second.
    """
    work = Work()
    async with running(work) as clock:
        clock.arm(50)
        await asyncio.sleep(0)
        time.sleep(1.6)  # noqa: ASYNC251 - the loop is blocked on purpose
        await until(lambda: work.dues)
        assert not clock.armed


async def test_turns_of_a_sweep_that_still_runs_are_left_out_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """The next one starts once it has ended; no warning is given of what does no harm."""
    caplog.set_level(logging.DEBUG, "bot.jobs.scheduler")
    work = Work(held=asyncio.Event())
    async with running(work):
        await until(lambda: "the job sweep has been running for" in caplog.text)
        assert 1 == len(work.dues)
        assert work.held is not None
        work.held.set()
        await until(lambda: len(work.dues) > 1)

    assert [] == [one.message for one in caplog.records if one.levelno > logging.INFO]


async def test_a_sweep_that_takes_very_long_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    """One warning however many turns are left out; another one when it happens again."""
    caplog.set_level(logging.DEBUG, "bot.jobs.scheduler")
    work = Work(held=asyncio.Event())
    async with running(work, long_s=0.5):
        await until(lambda: caplog.text.count("skipping this turn") >= 3)
        first = warnings(caplog)
        assert work.held is not None
        work.held.set()
        await until(lambda: len(work.dues) > 1)
        work.held = asyncio.Event()
        await until(lambda: len(warnings(caplog)) > 1)

    (words,) = first
    assert words.startswith("the job sweep has been running for ")


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the warnings, whoever gave them."""
    return [one.message for one in caplog.records if one.levelno >= logging.WARNING]


async def test_a_deadline_whose_turn_was_left_out_hides_no_later_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """While the last wake-up still runs the next is left out, and is no longer armed."""
    caplog.set_level(logging.DEBUG, "bot.jobs.scheduler")
    work = Work(held=asyncio.Event())
    async with running(work) as clock:
        clock.arm(20)
        await until(lambda: bool(work.dues))
        clock.arm(20)
        await until(lambda: "the job next-deadline has been running for" in caplog.text)

        assert not clock.armed

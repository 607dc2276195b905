"""The clock wakes on time, is never silenced by being late, and stops quietly."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from bot.clock import Clock


@dataclass
class Work:
    """Count what is called, and say when to come again."""

    next_ms: int | None = None
    dues: list[int] = field(default_factory=list)
    beats: int = 0
    fails: int = 0

    async def due(self) -> int | None:
        """Note the time of the call."""
        self.dues.append(round(time.time() * 1000))
        if self.fails:
            self.fails -= 1
            raise RuntimeError("a sweep that failed")
        return self.next_ms

    async def beat(self) -> None:
        """Count."""
        self.beats += 1

    async def retain(self) -> None:
        """Never called here: it is a nightly job."""

    async def watch(self) -> None:
        """Do nothing; called every ten seconds."""


@asynccontextmanager
async def running(work: Work) -> AsyncIterator[Clock]:
    """Run a clock over some work."""
    clock = Clock(work)
    clock.start()
    try:
        yield clock
    finally:
        clock.stop()


async def test_wakes_at_the_armed_time() -> None:
    """An armed deadline is met within a few milliseconds, and not before."""
    work = Work()
    async with running(work) as clock:
        at_ms = round(time.time() * 1000) + 300
        clock.arm(at_ms)
        await asyncio.sleep(0.5)

    assert 0 <= work.dues[0] - at_ms < 150


async def test_an_earlier_deadline_wins() -> None:
    """A nearer deadline moves the wake-up; a later one does not."""
    work = Work()
    async with running(work) as clock:
        now = round(time.time() * 1000)
        clock.arm(now + 60_000)
        clock.arm(now + 200)
        clock.arm(now + 30_000)
        await asyncio.sleep(0.4)

    assert 1 == len(work.dues)


async def test_a_committed_deadline_is_looked_at() -> None:
    """The store's note about a deadline leads to a look at once; other notes do not."""
    work = Work()
    async with running(work) as clock:
        clock.hear("approval:x")
        await asyncio.sleep(0.1)
        before = len(work.dues)
        clock.hear("deadline")
        await asyncio.sleep(0.1)

    assert 0 == before
    assert 1 == len(work.dues)


async def test_sweeps_each_second_also_after_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    """A sweep that fails is logged, and the next one comes all the same."""
    work = Work(fails=1)
    async with running(work):
        await asyncio.sleep(2.4)

    assert 2 == len(work.dues)
    assert 1 == work.beats
    assert "sweep" in caplog.text


async def test_a_late_loop_loses_nothing() -> None:
    """A deadline that the loop could not serve in time is served late, not dropped.

    The library's own default would drop it after one second.
    """
    work = Work()
    async with running(work) as clock:
        clock.arm(round(time.time() * 1000) + 50)
        await asyncio.sleep(0)
        time.sleep(1.6)  # noqa: ASYNC251 - the loop is blocked on purpose
        await asyncio.sleep(0.2)

    assert work.dues

"""Start a spare executor only for somebody who may need it, and where there is room."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from core.isolation.pool import _SPARE_AFTER_S, ExecutorPool
from core.isolation.upkeep import Options
from tests.support.executors import BUILD, USER, as_user, executors
from tests.support.waiting import until

OPTIONS = Options(BUILD, max_executors=3, warm_spare=True)


class Running:
    """A pool with real executors of another user, and how many were started."""

    def __init__(self, path: str) -> None:
        self.pool: ExecutorPool
        self.started = 0
        self._words = as_user(path)

    def command(self, _user: str) -> tuple[str, ...]:
        """Return what starts one."""
        self.started += 1
        return self._words


@asynccontextmanager
async def pool_of(path: str, options: Options) -> AsyncIterator[Running]:
    """Yield a pool that has just given an executor away."""
    running = Running(path)
    async with executors(path, options=options, command=running.command) as world:
        running.pool = world.pool
        await world.pool.take(USER)
        yield running


async def spares_made(pool: ExecutorPool) -> None:
    """Wait until nothing more is being started."""
    await until(lambda: not pool._tasks)


async def test_one_is_started_and_no_second(executor_path: str) -> None:
    """Not even when one more is wanted while it is there."""
    async with pool_of(executor_path, OPTIONS) as running:
        await spares_made(running.pool)
        assert running.pool._spares.keys() == {USER}
        running.pool._keep_spare(USER)
        await spares_made(running.pool)

        assert (running.started, running.pool.live) == (2, 2)


@pytest.mark.parametrize(("most", "started"), [(1, 1), (2, 2)])
async def test_it_takes_no_place_that_is_missing(
    executor_path: str, most: int, started: int
) -> None:
    """It may have the last one."""
    async with pool_of(executor_path, replace(OPTIONS, max_executors=most)) as running:
        await spares_made(running.pool)

        assert (running.started, running.pool.live) == (started, started)


async def test_none_is_started_once_nobody_wants_it(executor_path: str) -> None:
    """The user has been idle for long enough."""
    options = replace(OPTIONS, idle_timeout_s=_SPARE_AFTER_S / 2)
    async with pool_of(executor_path, options) as running:
        await spares_made(running.pool)

        assert (running.started, running.pool._spares) == (1, {})


async def test_none_is_started_for_a_pool_that_ends(executor_path: str) -> None:
    """Nor is anything left of it."""
    async with pool_of(executor_path, OPTIONS) as running:
        await running.pool.stop()
        await asyncio.sleep(0)

        assert (running.started, running.pool.live) == (1, 0)

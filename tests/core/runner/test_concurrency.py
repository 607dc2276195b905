"""Let a waiting run leave the queue at once, without ever losing a place."""

import asyncio
import time

import pytest

from core.errors import SpawnError
from core.model.identity import SessionKey
from core.runner.concurrency import Turns
from core.runner.limits import Limits
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, request

SESSION = SessionKey("agent:main:test")


async def test_a_run_that_waits_for_its_turn_is_cancelled_at_once() -> None:
    """It ends before the run that it waits for, and it never claims."""
    runner = Runner(Limits(grace_ms=300), most_runs=1)
    await runner.start()
    try:
        first_id, waiting_id, claims = new_run(), new_run(), list[str]()
        start = Start(before_claim=lambda: claims.append("claim"))
        first = asyncio.create_task(runner.run(first_id, planned(request("sleep 30")), Start()))
        while (await runner.tail(first_id)) is None:
            await asyncio.sleep(0.01)
        waiting = asyncio.create_task(runner.run(waiting_id, planned(request("echo hi")), start))
        await asyncio.sleep(0.05)
        began = time.monotonic()
        assert await runner.cancel(waiting_id)
        with pytest.raises(SpawnError, match="cancelled before it started"):
            await waiting
        assert time.monotonic() - began < 5
        assert claims == []
        assert not first.done()
        await runner.cancel(first_id)
        await first
    finally:
        await runner.stop()


async def test_no_place_is_lost_however_waiting_ends() -> None:
    """Unwanted before, at the moment of, and cancelled while waiting: the place is returned."""
    turns = Turns(1)
    for way in ("unwanted", "cancelled", "both at once"):
        unwanted = asyncio.Event()
        entered = asyncio.Event()

        async def wait(
            unwanted: asyncio.Event = unwanted, entered: asyncio.Event = entered
        ) -> bool:
            entered.set()
            async with turns.turn(unwanted, SESSION) as begun:
                return begun

        async with turns.turn(asyncio.Event(), SESSION) as first:
            assert first
            task = asyncio.create_task(wait())
            await entered.wait()
            await asyncio.sleep(0)
            if way == "unwanted":
                unwanted.set()
                assert not await task
            elif way == "cancelled":
                task.cancel()
        if way == "both at once":
            unwanted.set()
        await asyncio.gather(task, return_exceptions=True)
        async with asyncio.timeout(5), turns.turn(asyncio.Event(), SESSION) as again:
            assert again

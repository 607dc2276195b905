"""End a channel's background work with the channel: in its time, or cancelled."""

import asyncio

from channels.background import Background, finish


async def test_what_is_under_way_is_waited_for() -> None:
    """A task that ends in time has done its work when the channel has stopped."""
    done: list[str] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        done.append("told")

    background = Background()
    background.spawn(work())
    assert not done
    await background.finish()

    assert ["told"] == done


async def test_what_is_late_is_cancelled() -> None:
    """Nothing outlives the patience, and the caller of the stop is told."""
    late = asyncio.create_task(asyncio.sleep(60))
    soon = asyncio.create_task(asyncio.sleep(0))

    assert not await finish([late, soon], 0.05)
    assert late.cancelled()
    assert not soon.cancelled()
    assert await finish([], 60)
    assert await finish([soon], 60)

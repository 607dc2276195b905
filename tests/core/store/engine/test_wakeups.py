"""Wake a waiter by its own notes, each once, and by no one else's."""

import asyncio
from pathlib import Path

from core.store import open_store
from core.store.engine.notifications import RESYNC, note
from core.store.engine.wakeups import Wakeups, wakeups


async def test_a_commit_wakes_whoever_waits_for_its_note(tmp_path: Path) -> None:
    """A note of a committed write arrives inside the block, another's note does not."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    try:
        with wakeups(store, "run:a") as heard:
            await store.write(note, "run:b")
            assert not await heard.wait(0.05)
            waiting = asyncio.create_task(heard.wait(10))
            await store.write(note, "run:a")
            assert await waiting
    finally:
        await store.close()


async def test_a_wakeup_is_heard_once_and_kept_until_it_is() -> None:
    """What came before the wait counts, and only for one wait."""
    heard = Wakeups(frozenset({"run:a"}))
    heard.hear("run:a")
    heard.hear("run:a")

    assert await heard.wait(10)
    assert not await heard.wait(0.01)


async def test_a_kind_and_a_resync_are_heard() -> None:
    """``approval:`` is about all approvals, and lost notes may have been about anything."""
    heard = Wakeups(frozenset({"approval:"}))
    heard.hear("approval:a")
    assert await heard.wait(10)
    heard.hear(RESYNC)
    assert await heard.wait(10)
    heard.hear("run:a")
    heard.hear("approval")
    assert not await heard.wait(0.01)


async def test_a_wait_that_is_cancelled_loses_no_wakeup() -> None:
    """The next wait gets what arrived while no one waited."""
    heard = Wakeups(frozenset({"run:a"}))
    waiting = asyncio.create_task(heard.wait(10))
    await asyncio.sleep(0)
    heard.hear("run:a")
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    assert waiting.cancelled()
    assert await heard.wait(0.01)

"""Look for nodes that ask to be paired again soon, while one of them may give up."""

import asyncio
from pathlib import Path

import pytest

from bot.announcements import Announcer, Audience
from bot.jobs import node_notices as job
from bot.jobs.node_notices import NodeNotices
from core.model.identity import Target
from core.model.node import NodeId
from core.store import open_store
from core.store.outbox import node_notices
from core.store.people import nodes
from tests.support.stores import ManualClock


async def test_a_request_that_nobody_answers_is_ended_soon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing wakes the task when a request expires: it looks itself, while one waits."""
    monkeypatch.setattr(job, "_LOOK_S", 0.05)
    clock = ManualClock()
    store = await open_store(f"sqlite:///{tmp_path}/state.db", clock=clock)
    draft = nodes.PairingDraft(NodeId("a" * 64), "t" * 64, "web", "10.0.0.5")
    announcer = Announcer(store, Audience((Target("memory", "ops"),)))
    task = asyncio.create_task(NodeNotices(store, announcer.tell).run())
    await store.write(nodes.request, draft)
    async with asyncio.timeout(30):
        while not await store.read(node_notices.unended):
            await asyncio.sleep(0.01)
        clock.ms += nodes.REQUEST_LIFE_MS
        while await store.read(node_notices.unended):
            await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await store.close()

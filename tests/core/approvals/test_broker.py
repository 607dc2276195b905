"""Tell a client that waits for an approval its end, once it has one."""

import asyncio
from pathlib import Path

from core.approvals.ids import new_id
from core.model.approval import ApprovalReply, ApprovalState
from core.store import outbox
from tests.support.gate import PLACE, gate_at, request, says


async def test_an_approval_is_waited_for_until_it_is_final(tmp_path: Path) -> None:
    """A waiting question is not an end; an answer wakes, and a later call returns at once."""
    async with gate_at(tmp_path) as gate, asyncio.timeout(20):
        asked = await gate.submit(request("uname", cwd=tmp_path))
        waiting = asyncio.create_task(gate.broker.wait(asked.run_id))
        early, _ = await asyncio.wait({waiting}, timeout=0.2)
        await gate.answer(says(asked.run_id, ApprovalReply.DENY))
        ended = await waiting
        later = await gate.broker.wait(asked.run_id)

    assert not early
    assert ended is not None
    assert ended.resolution is not None
    assert ended.resolution.state is ApprovalState.DENIED
    assert later == ended


async def test_nobody_waits_for_what_is_not_there(tmp_path: Path) -> None:
    """An unknown id is reported at once."""
    async with gate_at(tmp_path) as gate, asyncio.timeout(10):
        assert await gate.broker.wait(new_id()) is None


async def test_each_place_that_was_asked_hears_a_notice_once(tmp_path: Path) -> None:
    """However often it is reported."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("uname", cwd=tmp_path))
        await gate.answer(says(asked.run_id, ApprovalReply.DENY))
        ended = await gate.broker.wait(asked.run_id)
        assert ended is not None
        for _ in range(2):
            await gate.broker.notify(ended, "something to know")
        items = await gate.store.write(outbox.claim, 10, 1_000, (PLACE.channel,))

    told = [item for item in items if "something to know" in str(item.payload)]
    assert [item.target for item in told] == [PLACE]

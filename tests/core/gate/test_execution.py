"""Define how an allowed run that never started ends."""

import asyncio
import json
from pathlib import Path

from core.approvals.answer import AnswerOutcome
from core.gate import Gate
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, SessionKey
from core.model.result import Denied, Pending
from core.store.sessions import events
from tests.support.gate import gate_at, request, says
from tests.support.waiting import until


async def allowed(gate: Gate, line: str) -> ApprovalId:
    """Ask, and let Ana allow it."""
    asked = await gate.submit(request(line))
    assert isinstance(asked, Pending)
    answer = await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
    assert AnswerOutcome.ACCEPTED is answer.outcome
    return asked.run_id


async def test_what_is_cancelled_between_its_approval_and_its_start_is_cancelled(
    tmp_path: Path,
) -> None:
    """It waits for its turn: result, journal and session say so, not `spawn_failed`."""
    async with gate_at(tmp_path, most_runs=1) as gate:
        first = await allowed(gate, "sleep 60")
        second = await allowed(gate, "touch never")
        plans = dict(await gate.queued())
        going = asyncio.create_task(gate.run_approved(first, plans[first]))
        async with asyncio.timeout(20):
            while await gate.tail(first) is None:
                await asyncio.sleep(0.01)
        waiting = asyncio.create_task(gate.run_approved(second, plans[second]))
        await until(lambda: second in gate._running)
        assert await gate.cancel(second, "no longer wanted")
        ended = await waiting
        assert await gate.cancel(first, "")
        await going
        told = await gate.store.read(events.drain, SessionKey("main"))

    assert isinstance(ended, Denied)
    assert (DenialReason.CANCELLED, second) == (ended.reason, ended.run_id)
    records = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    (refused,) = (record for record in records if record["kind"] == "refuse")
    assert (second, "cancelled") == (refused["run"], refused["reason"])
    texts = [one.text for one in told]
    assert any("cancelled" in text and second[:6] in text for text in texts), texts
    assert not any("spawn_failed" in text for text in texts)

"""Start what people allowed, whichever other runs wait."""

import asyncio
from dataclasses import replace
from pathlib import Path

from sqlalchemy import Connection, update

from bot.jobs.run_dispatcher import Dispatch
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.identity import AgentId, ApprovalId
from core.model.result import Finished, Pending
from core.store.schema.tables import questions
from tests.support.gate import gate_at, request, says
from tests.support.waiting import until

_MANY = 40
"""More than are looked at of one agent at a time."""


async def _allowed(gate: Gate, line: str, agent: str) -> ApprovalId:
    asked = await gate.submit(replace(request(line), agent=AgentId(agent)))
    assert isinstance(asked, Pending)
    await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
    return asked.run_id


async def test_an_agent_whose_runs_wait_for_places_holds_up_no_other(tmp_path: Path) -> None:
    """The first 32 of all were looked at, however long they waited, and nothing else was."""
    async with gate_at(tmp_path, most_runs=1) as gate:
        many = [await _allowed(gate, f"sleep {300 + number}", "main") for number in range(_MANY)]
        other = await _allowed(gate, "sleep 600", "other")
        dispatch = asyncio.create_task(Dispatch(gate, gate.store).run())
        await until(lambda: other in gate.running)
        assert len(gate.running) < _MANY
        for run_id in (*many, other):  # those that nobody has looked at yet as well
            assert await gate.cancel(run_id, "the end")
        await until(lambda: not gate.running)
        last = await _allowed(gate, "true", "main")
        assert isinstance(await gate.wait(last, 20_000), Finished)
        dispatch.cancel()
        await asyncio.gather(dispatch, return_exceptions=True)


async def test_a_run_that_this_version_cannot_read_holds_up_no_other(tmp_path: Path) -> None:
    """As after a return to an older version: it stays queued, and what else is allowed starts."""
    async with gate_at(tmp_path) as gate:
        strange = await _allowed(gate, "sleep 600", "main")
        await gate.store.write(_rewrite, strange)
        dispatch = asyncio.create_task(Dispatch(gate, gate.store).run())
        await asyncio.sleep(0.1)
        other = await _allowed(gate, "true", "main")
        assert isinstance(await gate.wait(other, 20_000), Finished)
        assert not dispatch.done()
        dispatch.cancel()
        await asyncio.gather(dispatch, return_exceptions=True)


def _rewrite(conn: Connection, run_id: str) -> None:
    conn.execute(update(questions).where(questions.c.id == run_id).values(plan="[]"))

"""Never report an existing request as unknown, not even while it moves between steps."""

import asyncio
from pathlib import Path

import pytest

from core.approvals.ids import new_id
from core.errors import Stopping, StoreError
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.model.result import Denied, Finished, Pending, Running, Submission
from core.store.runs import runs
from core.store.schema.records import RunDraft
from core.store.views.status import run_times
from tests.support.gate import AGENT, gate_at, list_patterns, request, says
from tests.support.runs import planned
from tests.support.runs import request as wished
from tests.support.waiting import until

ROUNDS, WATCHERS = 25, 4


async def watched(gate: Gate, run_id: ApprovalId) -> list[Submission | None]:
    """Poll a request's state constantly, until it has ended."""
    seen = [await gate.status(run_id)]
    while seen[-1] is not None and not isinstance(seen[-1], Finished | Denied):
        seen.append(await gate.status(run_id))
    return seen


async def test_a_run_that_ends_is_known_at_every_moment(tmp_path: Path) -> None:
    """From its beginning to its end, by many who poll in between."""
    list_patterns(tmp_path, "/usr/bin/echo")
    looks: list[asyncio.Task[list[Submission | None]]] = []
    async with gate_at(tmp_path) as gate:

        def begun(run_id: ApprovalId) -> None:
            looks.extend(asyncio.create_task(watched(gate, run_id)) for _ in range(WATCHERS))

        for _ in range(ROUNDS):
            await gate.submit(request("echo x", cwd=tmp_path), begun)
        seen = await asyncio.gather(*looks)
        unknown = await gate.wait(new_id(), 0)

    assert len(seen) == ROUNDS * WATCHERS
    assert all(isinstance(one[-1], Finished) for one in seen)
    assert sum(isinstance(each, Running) for one in seen for each in one) > len(seen)
    assert unknown is None, "the control"


async def test_a_question_that_is_allowed_is_known_at_every_moment(tmp_path: Path) -> None:
    """Pending, then running, then ended, and never the other way round."""
    async with gate_at(tmp_path) as gate:
        asked = [await gate.submit(request(f"echo {n}", cwd=tmp_path)) for n in range(5)]
        looks = [asyncio.create_task(watched(gate, one.run_id)) for one in asked]
        for one in asked:
            await gate.answer(says(one.run_id, ApprovalReply.ALLOW_ONCE))
        for run_id, plan in await gate.queued():
            await gate.run_approved(run_id, plan)
        seen = await asyncio.gather(*looks)

    order = [Pending, Running, Finished]
    for states in seen:
        places = [order.index(type(each)) for each in states if each is not None]
        assert len(places) == len(states)
        assert places == sorted(places)
        assert isinstance(states[-1], Finished)


async def test_what_runs_on_another_gateway_is_running(tmp_path: Path) -> None:
    """A run that policy allowed there never asked, and is not a run of this gateway's."""
    plan = planned(wished("echo x", cwd=tmp_path))
    elsewhere = RunDraft(new_id(), plan, AGENT, "another-gateway")
    async with gate_at(tmp_path) as gate:
        before = await gate.status(elsewhere.id)
        await gate.store.write(runs.begin, elsewhere)
        stands = await gate.wait(elsewhere.id, 0)

    assert before is None, "the control"
    assert stands == Running(elsewhere.id)


async def test_a_gate_that_closes_sends_away_who_waits_for_what_does_not_run(
    tmp_path: Path,
) -> None:
    """A question is kept for the next start; what runs here is waited for to its end."""
    list_patterns(tmp_path, "/usr/bin/sleep")
    async with gate_at(tmp_path) as gate, asyncio.timeout(20):
        asked = await gate.submit(request("uname", cwd=tmp_path))
        going = asyncio.create_task(gate.submit(request("sleep 1", cwd=tmp_path)))
        await until(lambda: gate.running)
        (run_id,) = gate.running
        waiting = [asyncio.create_task(gate.wait(one)) for one in (asked.run_id, run_id)]
        await until(lambda: set(gate._waiters._futures) == {asked.run_id, run_id})
        gate.close()
        sent_away, ended = await asyncio.gather(*waiting, return_exceptions=True)
        stands = await gate.wait(asked.run_id, 0)
        with pytest.raises(Stopping, match=f"Request {asked.run_id} is kept"):
            await gate.wait(asked.run_id)
        result = await going

    assert isinstance(sent_away, Stopping)
    assert isinstance(ended, Finished)
    assert ended == result
    assert stands == asked


async def test_without_a_store_only_what_runs_here_has_a_status(tmp_path: Path) -> None:
    """Whether anything else exists is not known, so it is not said to be unknown."""
    list_patterns(tmp_path, "/usr/bin/sleep")
    async with gate_at(tmp_path) as gate, asyncio.timeout(20):
        going = asyncio.create_task(gate.submit(request("sleep 1", cwd=tmp_path)))
        await until(lambda: gate.running)
        (run_id,) = gate.running
        while await gate.store.read(run_times, run_id) is None:  # not claimed yet
            await asyncio.sleep(0.01)
        await gate.store.close()
        stands = await gate.status(run_id)
        with pytest.raises(StoreError):
            await gate.status(new_id())
        ended = await going
        kept = await gate.status(run_id)

    assert stands == Running(run_id)
    assert isinstance(ended, Finished)
    assert kept == ended

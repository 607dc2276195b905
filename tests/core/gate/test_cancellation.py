"""Cancel a question, an allowed run that waits, one that starts, and one that runs."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import cast

import pytest

from core.errors import StoreError
from core.hosts.gateway import GatewayHost
from core.model.approval import ApprovalReply
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, SessionKey
from core.model.policy import ExecHost
from core.model.result import Denied, ExecResult, Finished
from core.ports import RunStart
from core.runner.runner import Runner
from core.store.runs import runs
from core.store.sessions import events
from tests.support.gate import allowed, gate_at, list_patterns, records, request, says
from tests.support.store_link import Op, StoreLink
from tests.support.waiting import until


async def test_withdrawn_question_ends(tmp_path: Path) -> None:
    """A cancelled question is denied as cancelled; what runs is ended."""
    list_patterns(tmp_path, "/usr/bin/echo")
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("touch made", cwd=tmp_path))
        assert await gate.cancel(asked.run_id, "the agent's session ended")
        result = await gate.wait(asked.run_id)
        assert not await gate.cancel(asked.run_id, "again")
        assert not await gate.cancel(ApprovalId("0" * 26), "nothing has this id")

    assert isinstance(result, Denied)
    assert DenialReason.CANCELLED is result.reason


async def test_an_approved_command_that_runs_is_ended(tmp_path: Path) -> None:
    """Stopping what a person allowed ends the run; the question's own end remains as it was."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("sh -c 'sleep 60'", cwd=tmp_path))
        await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        ((run_id, plan),) = await gate.queued()
        running = asyncio.ensure_future(gate.run_approved(run_id, plan))
        async with asyncio.timeout(10):
            while await gate.tail(run_id) is None:
                await asyncio.sleep(0.01)
        stopped = await gate.cancel(run_id, "enough")
        result = await running
        late = await gate.cancel(run_id, "again")

    assert (True, False) == (stopped, late)
    assert isinstance(result, Finished)
    assert 15 == result.signal
    ends = [line for line in records(tmp_path) if line["kind"] == "resolve"]
    assert ["allowed"] == [line["state"] for line in ends]
    stops = [line for line in records(tmp_path) if line["kind"] == "stop"]
    assert [(run_id, "enough")] == [(line["run"], line["note"]) for line in stops]
    assert gate.stopped(run_id) == "enough"


async def test_who_ends_a_command_is_recorded_once(tmp_path: Path) -> None:
    """Two do it at once, and both are told that it is ended: the first one is recorded."""
    async with gate_at(tmp_path) as gate:
        run_id = await allowed(gate, "sleep 60")
        running = asyncio.create_task(gate.run_approved(run_id, dict(await gate.queued())[run_id]))
        async with asyncio.timeout(10):
            while await gate.tail(run_id) is None:
                await asyncio.sleep(0.01)
        stopped = await asyncio.gather(*(gate.cancel(run_id, one) for one in ("ana", "bob")))
        await running

    assert stopped == [True, True]
    stops = [line["note"] for line in records(tmp_path) if line["kind"] == "stop"]
    assert stops == ["ana"]
    assert gate.stopped(run_id) == "ana"


class SlowHost(GatewayHost):
    """A host that looks through a workspace, or for a companion, before its runner has the run."""

    begun: asyncio.Event
    ready: asyncio.Event

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Prepare until the test lets it go on."""
        self.begun.set()
        await self.ready.wait()
        return await super().run(run_id, plan, start)


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


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_what_is_cancelled_while_its_host_prepares_never_starts(
    tmp_path: Path, *, is_cancelled: bool
) -> None:
    """There was nothing to cancel, and then it ran. Nobody who cancels it: it runs."""
    runner = Runner()
    await runner.start()
    async with gate_at(tmp_path) as gate:
        host = SlowHost(runner)
        host.begun, host.ready = asyncio.Event(), asyncio.Event()
        gate.execution.hosts = {ExecHost.GATEWAY: host}
        run_id = await allowed(gate, f"touch {tmp_path}/ran")
        running = asyncio.create_task(gate.run_approved(run_id, dict(await gate.queued())[run_id]))
        await host.begun.wait()
        if is_cancelled:
            assert await gate.cancel(run_id, "no longer wanted")
        host.ready.set()
        ended = await running
        again = await gate.cancel(run_id, "too late")
    await runner.stop()

    assert isinstance(ended, Denied if is_cancelled else Finished)
    assert (tmp_path / "ran").exists() is not is_cancelled
    assert not again


class LateHost(GatewayHost):
    """A host whose runner has claimed the run while it still looks for it."""

    looked: asyncio.Event
    claimed: asyncio.Event

    async def cancel(self, run_id: ApprovalId) -> bool:
        """Look before the run is known, and answer after it is claimed."""
        if self.looked.is_set():
            return await super().cancel(run_id)
        self.looked.set()
        await self.claimed.wait()
        return False


async def test_what_is_claimed_while_its_host_looks_is_cancelled(tmp_path: Path) -> None:
    """A node's runs are looked up in the store: there was nothing to cancel, and then it ran."""
    runner = Runner()
    await runner.start()
    async with gate_at(tmp_path) as gate:
        host = LateHost(runner)
        host.looked, host.claimed = asyncio.Event(), asyncio.Event()
        slow = SlowHost(runner)
        slow.begun, slow.ready = asyncio.Event(), asyncio.Event()
        host.run = slow.run  # type: ignore[method-assign]
        gate.execution.hosts = {ExecHost.GATEWAY: host}
        run_id = await allowed(gate, "sleep 60")
        running = asyncio.create_task(gate.run_approved(run_id, dict(await gate.queued())[run_id]))
        await slow.begun.wait()
        cancelling = asyncio.create_task(gate.cancel(run_id, "no longer wanted"))
        await host.looked.wait()
        slow.ready.set()
        await until(lambda: gate.execution._starts[run_id].claimed)
        host.claimed.set()
        assert await cancelling
        async with asyncio.timeout(20):
            ended = await running
    await runner.stop()
    assert isinstance(ended, Finished)
    assert ended.cancelled


async def test_what_is_allowed_and_waits_in_line_can_be_withdrawn(tmp_path: Path) -> None:
    """It was said to be started right now, however often one tried; then it ran."""
    async with gate_at(tmp_path) as gate:
        run_id, kept = await allowed(gate, f"touch {tmp_path}/ran"), await allowed(gate, "true")
        waiting = asyncio.create_task(gate.wait(run_id))
        await asyncio.sleep(0)
        plans = dict(await gate.queued())
        assert await gate.cancel(run_id, "no longer wanted")
        ended = await waiting
        assert await gate.run_approved(run_id, plans[run_id]) is None
        assert isinstance(await gate.run_approved(kept, plans[kept]), Finished)
        assert not await gate.cancel(kept, "too late")
        assert not await gate.cancel(run_id, "again")
        told = await gate.store.read(events.drain, SessionKey("main"))
        assert await gate.queued() == ()

    assert isinstance(ended, Denied)
    assert ended.reason is DenialReason.CANCELLED
    assert not (tmp_path / "ran").exists()
    assert [one for one in told if run_id[:6] in one.text and "cancelled" in one.text]
    records = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    of_it = [one["kind"] for one in records if one.get("run") == run_id]
    assert [kind for kind in of_it if kind in {"refuse", "stop", "start"}][:2] == ["refuse", "stop"]


@pytest.mark.parametrize("lead", range(0, 40, 4))
async def test_a_withdrawal_and_a_start_at_once_are_never_both(tmp_path: Path, lead: int) -> None:
    """Cancelled means that it did not run to its end; and the journal's last word is true."""
    async with gate_at(tmp_path) as gate:
        run_id = await allowed(gate, f"sh -c 'echo begun >> {tmp_path}/ran; sleep 5; echo ended'")
        plan = dict(await gate.queued())[run_id]

        async def later(turns: int) -> ExecResult | None:
            for _ in range(turns):
                await asyncio.sleep(0)
            return await gate.run_approved(run_id, plan)

        running = asyncio.create_task(later(lead))
        for _ in range(20):
            await asyncio.sleep(0)
        assert await gate.cancel(run_id, "no longer wanted")
        result = await running
        status = await gate.status(run_id)
        assert not gate._running
        assert not gate._cancellation._withdrawing

    ran = (tmp_path / "ran").exists()
    records = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    last = [one["kind"] for one in records if one.get("run") == run_id and one["kind"] != "stop"][
        -1
    ]
    if ran:
        assert isinstance(result, Finished)
        assert result.cancelled
        assert last == "finish"
    else:
        assert result is None or isinstance(result, Denied)
        assert isinstance(status, Denied)
        assert last == "refuse"


async def test_what_was_cancelled_has_no_start_in_the_journal(tmp_path: Path) -> None:
    """Its dispatcher had read the queue before; nothing ran, and no record may say so."""
    async with gate_at(tmp_path) as gate:
        run_id = await allowed(gate, "touch never")
        plan = dict(await gate.queued())[run_id]
        assert await gate.cancel(run_id, "no longer wanted")
        assert await gate.run_approved(run_id, plan) is None
        assert isinstance(await gate.status(run_id), Denied)

    kinds = [line["kind"] for line in records(tmp_path) if line.get("run") == run_id]
    assert kinds[-2:] == ["refuse", "stop"]


async def test_what_was_cancelled_while_its_claim_failed_never_starts(
    tmp_path: Path,
) -> None:
    """Its cancellation was confirmed; it is queued again once the database works."""
    claims: set[Op] = {runs.start}
    slow = partial(StoreLink, holds=claims.__contains__, fails=claims.__contains__)
    async with gate_at(tmp_path, over=slow) as gate:
        link = cast("StoreLink", gate.store)
        run_id = await allowed(gate, f"touch {tmp_path}/ran")
        plan = dict(await gate.queued())[run_id]
        running = asyncio.create_task(gate.run_approved(run_id, plan))
        await until(lambda: link.calls[runs.start])
        assert await gate.cancel(run_id, "no longer wanted")
        link.free.set()
        with pytest.raises(StoreError):
            await running
        claims.clear()
        await gate.run_approved(run_id, plan)
        status = await gate.status(run_id)

    assert isinstance(status, Denied)
    assert status.reason is DenialReason.CANCELLED
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("stage", ["answer", "question", "queued", "running"])
async def test_what_a_caller_that_leaves_has_changed_is_recorded(
    tmp_path: Path, stage: str
) -> None:
    """The connection ends at each step of an answer or a cancellation, one after the other."""
    kind = {"answer": "resolve", "question": "resolve", "queued": "refuse", "running": "stop"}[
        stage
    ]
    async with gate_at(tmp_path) as gate:
        for steps in range(12):
            line = f"sh -c 'sleep 60; echo {steps}'"
            if stage in {"answer", "question"}:
                run_id = (await gate.submit(request(line, cwd=tmp_path))).run_id
            else:
                run_id = await allowed(gate, line)
            ends: list[asyncio.Future[object]] = []
            if stage == "running":
                plan = dict(await gate.queued())[run_id]
                ends.append(asyncio.ensure_future(gate.run_approved(run_id, plan)))
                await until(lambda at=run_id: at in gate._running)  # type: ignore[misc]
            change: asyncio.Future[object] = asyncio.ensure_future(
                gate.answer(says(run_id, ApprovalReply.ALLOW_ONCE))
                if stage == "answer"
                else gate.cancel(run_id, "no longer wanted")
            )
            await asyncio.sleep(0.0005 * steps)
            change.cancel()
            await asyncio.gather(change, return_exceptions=True)
            await asyncio.gather(*ends)
            await until(lambda at=run_id: _has(tmp_path, at, kind))  # type: ignore[misc]


def _has(folder: Path, run_id: str, kind: str) -> bool:
    return any(one.get("run") == run_id for one in records(folder) if one["kind"] == kind)

"""Define how an allowed run that never started ends."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from core.approvals.answer import AnswerOutcome
from core.gate import Gate
from core.hosts.gateway import GatewayHost
from core.model.approval import ApprovalReply
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, SessionKey
from core.model.policy import ExecHost
from core.model.result import Denied, Finished, Pending
from core.ports import RunWatcher
from core.runner.runner import Runner
from core.store.sessions import events
from tests.support.gate import gate_at, request, says
from tests.support.waiting import until


class SlowHost(GatewayHost):
    """A host that looks through a workspace, or for a companion, before its runner has the run."""

    begun: asyncio.Event
    ready: asyncio.Event

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Prepare until the test lets it go on."""
        self.begun.set()
        await self.ready.wait()
        return await super().run(run_id, plan, watcher)


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


@pytest.mark.parametrize("host", [ExecHost.SANDBOX, ExecHost.NODE])
async def test_no_host_stands_in_for_another(tmp_path: Path, host: ExecHost) -> None:
    """A plan for a host that does not work here runs nowhere, least of all unsandboxed."""
    async with gate_at(tmp_path) as gate:
        run_id = await allowed(gate, f"touch {tmp_path}/ran")
        plan = replace(dict(await gate.queued())[run_id], host=host)
        missing = await gate.execution.missing(plan)
        ended = await gate.run_approved(run_id, plan)

    assert missing is not None
    assert isinstance(ended, Denied)
    assert missing.reason is ended.reason is DenialReason.HOST_UNAVAILABLE
    assert not (tmp_path / "ran").exists()


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

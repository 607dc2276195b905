"""Run on the host that a plan names, or nowhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.model.decision import DenialReason
from core.model.policy import ExecHost
from core.model.result import Denied
from core.store.runs import runs
from tests.support.gate import allowed, gate_at, records


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


async def test_what_another_gateway_started_meanwhile_is_not_refused(tmp_path: Path) -> None:
    """It is locked down here only: nobody is told that it was denied, for there it runs.

    The control: what nobody has started is refused.
    """
    async with gate_at(tmp_path) as gate:
        theirs, ours = await allowed(gate, "echo theirs"), await allowed(gate, "echo ours")
        queued = await gate.queued()
        gate.execution.guard.lockdown.engage("a test", by="uid:0")
        assert await gate.store.write(runs.start, theirs, "another gateway")
        told = {run_id: await gate.run_approved(run_id, plan) for run_id, plan in queued}

    assert told[theirs] is None
    assert isinstance(told[ours], Denied)
    refused = [line["run"] for line in records(tmp_path) if line["kind"] == "refuse"]
    assert refused == [ours]

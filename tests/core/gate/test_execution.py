"""Run on the host that a plan names, or nowhere."""

from dataclasses import replace
from pathlib import Path

import pytest

from core.model.decision import DenialReason
from core.model.policy import ExecHost
from core.model.result import Denied
from tests.support.gate import allowed, gate_at


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

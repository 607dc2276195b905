"""Withdraw a test prompt that a killed `sayso init` left."""

from pathlib import Path

import pytest

from bot.gate_proof.test_prompt import is_test, new_session
from bot.jobs.recovery import WITHDRAWN, withdraw_test_prompts
from core.model.result import Denied, Pending
from core.store.approvals.queries import pending
from core.store.engine import replicas
from tests.support.gate import gate_at, request


@pytest.mark.parametrize("other", [False, True])
async def test_it_is_withdrawn_at_the_next_start(tmp_path: Path, other: bool) -> None:
    """An agent's question stays, and all do if another gateway lives, whose test it may be."""
    async with gate_at(tmp_path) as gate:
        real = await gate.submit(request("touch x"))
        test = await gate.submit(request("true", session=new_session()))
        assert isinstance(real, Pending)
        assert isinstance(test, Pending)
        if other:
            await gate.store.write(replicas.heartbeat, "another", replicas.LEASE_MS)

        await withdraw_test_prompts(gate)

        left = {one.id for one in await gate.store.read(pending, 10)}
        assert left == ({real.run_id, test.run_id} if other else {real.run_id})
        if not other:
            ended = await gate.wait(test.run_id, 0)
            assert isinstance(ended, Denied)
            assert WITHDRAWN in ended.why


@pytest.mark.parametrize("session", ["main", "agent:main:main", "agent:test-prompt-1:main"])
def test_what_else_is_asked_is_no_test(session: str) -> None:
    """The control of the names."""
    assert not is_test(session)
    assert is_test(new_session())

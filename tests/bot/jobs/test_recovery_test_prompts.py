"""Withdraw a test prompt that a killed `sayso init` left."""

from pathlib import Path

import pytest

from bot.gate_proof.test_prompt import is_test, new_session
from bot.jobs.recovery import WITHDRAWN, withdraw_test_prompts
from core.model.result import Denied
from core.store.approvals.queries import pending
from core.store.engine import replicas
from tests.support.gate import gate_at, request


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_it_is_withdrawn_at_the_next_start(
    tmp_path: Path, postgres_url: str, engine: str
) -> None:
    """An agent's question stays, and the test of another gateway: its command may wait for it.

    The start before was ended by a power cut: nothing is proven about its process.
    """
    url = postgres_url if engine == "postgresql" else None
    others = [tmp_path / "other"] if url else []
    for home in (tmp_path / "own", *others):
        home.mkdir()
    tests = []
    for home in (tmp_path / "own", *others):
        async with gate_at(home, url=url) as gate:
            await gate.store.write(replicas.heartbeat, home.name, replicas.LEASE_MS)
            real = await gate.submit(request("touch x"))
            tests.append(await gate.submit(request("true", session=new_session())))
    async with gate_at(tmp_path / "own", url=url, owner="boot-2") as gate:
        await withdraw_test_prompts(gate)

        left = {one.id for one in await gate.store.read(pending, 10)}
        assert real.run_id in left
        assert [one.run_id in left for one in tests] == [False, True][: len(tests)]
        ended = await gate.wait(tests[0].run_id, 0)
        assert isinstance(ended, Denied)
        assert WITHDRAWN in ended.why


@pytest.mark.parametrize("session", ["main", "agent:main:main", "agent:test-prompt-1:main"])
def test_what_else_is_asked_is_no_test(session: str) -> None:
    """The control of the names."""
    assert not is_test(session)
    assert is_test(new_session())

"""Call executors, and accept what they call: each call with its token, and in the journal."""

import pytest

from core.errors import SpawnError
from core.isolation.upkeep import Options
from tests.support.executors import USER, executors, order
from tests.support.waiting import until


async def test_the_audit_has_every_call_and_no_secret(executor_path: str) -> None:
    """S2 "100 % of IPC calls logged": who, method, size, result."""
    async with executors(executor_path) as world:
        executor = await world.pool.take(USER)
        link = await world.pool.calls.begin(executor, wanted := order())
        token = executor.token
        link.close()
        world.pool.let_go(executor)
        await until(lambda: world.pool.live == 0)
    records = world.records.kept

    assert [one["method"] for one in records] == ["ping", "run", "report_completion"]
    assert all(one["kind"] == "executor" and one["result"] == "ok" for one in records)
    assert {one["user"] for one in records} == {USER}
    assert [one.get("run") for one in records] == [None, wanted.run_id, wanted.run_id]
    assert all(isinstance(one["bytes"], int) for one in records)
    assert token
    assert token not in repr(records)


async def test_an_executor_of_another_version_runs_nothing(executor_path: str) -> None:
    """After an upgrade without setup."""
    async with executors(executor_path, build="other", options=Options("other")) as world:
        executor = await world.pool.take(USER)
        with pytest.raises(SpawnError, match="sudo sayso executor setup"):
            await world.pool.calls.begin(executor, order())


async def test_a_token_is_good_for_its_own_executor_only(executor_path: str) -> None:
    """A report with another one's token, or an unknown method, is refused and recorded."""
    async with executors(executor_path) as world:
        executor, other = await world.pool.take(USER), await world.pool.take(USER)
        link = await world.pool.calls.begin(executor, order())
        foreign = await world.pool.calls.begin(other, order())
        for token, method in (
            (other.token, "report_completion"),
            ("x" * 43, "report_completion"),
            (executor.token, "get_everything"),
        ):
            world.pool.calls.hear(executor, method, {"session_token": token})
        results = [one["result"] for one in world.records.kept]
        assert not executor.completed.is_set()
        link.close()
        foreign.close()
        await until(lambda: len(world.records.kept) >= 7)
        results = [one["result"] for one in world.records.kept]

    assert "Token of another session" in results
    assert "Token unknown" in results
    assert "Unknown method: get_everything" in results

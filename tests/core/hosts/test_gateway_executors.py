"""Run plans that are bound to another Unix user on the host ``gateway``."""

import asyncio
from dataclasses import replace

import pytest

from core.errors import HostUnavailable
from core.hosts.gateway import GatewayHost
from core.model.command import ExecPlan
from core.planning.digest import bind
from tests.support.executors import USER, executors
from tests.support.runs import Start, new_run, planned, request, running


def bound(line: str, user: str = USER) -> ExecPlan:
    """Return a plan for a user."""
    return bind(replace(planned(request(line)), run_as=user))


async def test_each_plan_runs_as_its_user(executor_path: str) -> None:
    """In parallel; cancel, tail and watch find both."""
    async with running() as runner, executors(executor_path) as world:
        host = GatewayHost(runner, world.executors)
        ours = await host.run(new_run(), planned(request("id -un")), Start())
        theirs = await host.run(new_run(), bound("id -un"), Start())
        run_id, start = new_run(), Start()
        task = asyncio.create_task(host.run(run_id, bound("sleep 60"), start))
        await start.started.wait()
        tail = await host.tail(run_id)
        cancelled = await host.cancel(run_id)
        done = await task

    assert (ours.output.text, theirs.output.text) == ("root\n", f"{USER}\n")
    assert tail is not None
    assert cancelled
    assert done.signal == 15


async def test_without_executors_such_a_plan_does_not_run() -> None:
    """Never as the gateway's own user instead; no one is asked about it either."""
    async with running() as runner:
        host, start = GatewayHost(runner), Start()
        with pytest.raises(HostUnavailable, match="runAsUnixUser is off"):
            await host.check(bound("id -un"))
        with pytest.raises(HostUnavailable, match="runAsUnixUser is off"):
            await host.run(new_run(), bound("id -un"), start)

    assert not start.started.is_set()


async def test_what_could_not_start_is_known_before_anybody_is_asked(executor_path: str) -> None:
    """A missing user or file; and the control."""
    async with running() as runner, executors(executor_path) as world:
        host = GatewayHost(runner, world.executors)
        await host.check(bound("id -un"))
        await host.check(planned(request("id -un")))
        with pytest.raises(HostUnavailable, match="no user `sayso_missing`"):
            await host.check(bound("id -un", "sayso_missing"))
    async with running() as runner, executors("/nowhere/sayso-executor") as world:
        with pytest.raises(HostUnavailable, match="is missing; run `sayso doctor executor`"):
            await GatewayHost(runner, world.executors).check(bound("id -un"))

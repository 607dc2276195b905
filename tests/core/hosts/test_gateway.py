import asyncio
from dataclasses import replace

import pytest

from core.errors import HostUnavailable
from core.hosts.gateway import GatewayHost
from core.model.command import AgentPart, AgentPartKind
from core.model.identity import ApprovalId
from core.ports import ExecutionHost
from tests.support.runs import Start, new_run, planned, request, running


async def test_the_gateway_host_runs_and_cancels() -> None:
    """Back the execution host named `gateway` with the runner."""
    async with running() as runner:
        host: ExecutionHost = GatewayHost(runner)
        done = await host.run(new_run(), planned(request("echo x")), Start())
        start, run_id = Start(), new_run()
        task = asyncio.create_task(host.run(run_id, planned(request("sleep 60")), start))
        await start.started.wait()
        cancelled = await host.cancel(run_id)

        assert host.place == "gateway"
        assert done.output.text == "x\n"
        assert cancelled
        assert (await task).signal == 15
        assert not await host.cancel(ApprovalId("0" * 26))


async def test_the_gateway_host_shows_what_it_runs() -> None:
    """Its watchers see the output from the start; there is none for a run that is not here."""
    async with running() as runner:
        host: ExecutionHost = GatewayHost(runner)
        run_id, start = new_run(), Start()
        plan = planned(request(argv=("/bin/sh", "-c", "echo x; sleep 0.2; echo y")))
        task = asyncio.create_task(host.run(run_id, plan, start))
        await start.started.wait()

        seen = [chunk.data async for chunk in host.watch(run_id)]

        assert b"".join(seen) == b"x\ny\n"
        assert (await task).exit_code == 0
        assert [chunk async for chunk in host.watch(run_id)] == []


@pytest.mark.parametrize("kind", AgentPartKind)
async def test_what_is_done_in_an_executor_needs_executors(kind: AgentPartKind) -> None:
    """Nothing of it runs as the gateway's user instead; the requester reads what to set."""
    what = "terminals are opened" if kind is AgentPartKind.TERMINAL else "agents run"
    words = f"{what} as other users only: set execution.runAsUnixUser to true"
    async with running() as runner:
        host, start = GatewayHost(runner), Start()
        plan = replace(planned(request("echo x")), part=AgentPart(kind))

        with pytest.raises(HostUnavailable, match=words):
            await host.check(plan)
        with pytest.raises(HostUnavailable, match=words):
            await host.run(new_run(), plan, start)
        assert not start.started.is_set()

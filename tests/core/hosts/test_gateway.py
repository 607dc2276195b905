import asyncio

from core.hosts.gateway import GatewayHost
from core.model.identity import ApprovalId
from core.ports import ExecutionHost
from tests.core.runner.runs import Watcher, new_run, planned, request, running


async def test_the_gateway_host_runs_and_cancels() -> None:
    """It is the execution host named `gateway`, backed by the runner."""
    async with running() as runner:
        host: ExecutionHost = GatewayHost(runner)
        done = await host.run(new_run(), planned(request("echo x")), Watcher())
        watcher, run_id = Watcher(), new_run()
        task = asyncio.create_task(host.run(run_id, planned(request("sleep 60")), watcher))
        await watcher.started.wait()
        cancelled = await host.cancel(run_id)

        assert host.place == "gateway"
        assert done.output.text == "x\n"
        assert cancelled
        assert (await task).signal == 15
        assert not await host.cancel(ApprovalId("0" * 26))

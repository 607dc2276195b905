from dataclasses import replace

import pytest

from core.hosts.gateway import GatewayHost
from core.hosts.router import HostRouter
from core.model.policy import ExecHost
from core.runner.runner import Runner
from tests.support.runs import planned, request


async def test_a_plan_goes_to_the_host_that_it_was_bound_to() -> None:
    """Run the gateway's plans on the gateway."""
    gateway = GatewayHost(Runner())

    assert HostRouter({ExecHost.GATEWAY: gateway}).pick(planned(request("true"))) is gateway


@pytest.mark.parametrize("host", [ExecHost.SANDBOX, ExecHost.NODE])
async def test_no_host_stands_in_for_another(host: ExecHost) -> None:
    """A plan for a host that does not work here runs nowhere, least of all unsandboxed."""
    router = HostRouter({ExecHost.GATEWAY: GatewayHost(Runner())})

    assert router.pick(replace(planned(request("true")), host=host)) is None

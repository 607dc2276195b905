"""Choose where a plan runs: exactly the host that it was bound to, or nowhere."""

from collections.abc import Mapping

from core.model.command import ExecPlan
from core.model.policy import ExecHost
from core.ports import ExecutionHost


class HostRouter:
    """The hosts that work here, by kind."""

    def __init__(self, hosts: Mapping[ExecHost, ExecutionHost]) -> None:
        self._hosts = dict(hosts)

    def pick(self, plan: ExecPlan) -> ExecutionHost | None:
        """Return the plan's host, ``None`` if it does not work here (``host_unavailable``).

        It is never another one: a plan for the sandbox must not run outside it.
        """
        return self._hosts.get(plan.host)

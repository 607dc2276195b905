"""Run the gateway's own commands: probes, and those that end containers."""

import os
from collections.abc import Mapping

from core.errors import HostUnavailable
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Basis
from core.model.identity import Intake, Requester, SessionKey
from core.model.policy import ExecHost, ExecPolicy
from core.planning.planner import Planner, Refusal

_POLICY = ExecPolicy(host=ExecHost.SANDBOX)


class Granted:
    """Let a command of our own start: no one asked for it, so there is no run to claim."""

    async def claim(self) -> bool:
        """Grant it."""
        return True

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Record nothing: it ends with its supervisor."""

    async def basis(self) -> Basis:
        """Return that no one was asked."""
        return Basis()


def own_plan(
    argv: tuple[str, ...], cwd: str, timeout_ms: int, environ: Mapping[str, str] | None = None
) -> ExecPlan:
    """Return the plan of a command of our own; ``timeout_ms`` is wall clock.

    Raises:
        HostUnavailable: it cannot be planned: the program or folder does not exist.
    """
    request = ExecRequest(
        requester=Requester(Intake.SOCKET, f"uid:{os.geteuid()}"),
        session=SessionKey("sandbox"),
        cwd=cwd,
        argv=argv,
        env=tuple((environ or {}).items()),
        timeout_ms=timeout_ms,
    )
    plan = Planner().plan(request, _POLICY)
    if isinstance(plan, Refusal):
        raise HostUnavailable(plan.why)
    return plan

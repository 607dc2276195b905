"""End what a dead gateway's executors left, and withdraw what its agents asked.

An executor ends with its gateway, and everything that it started ends with it; this is for the case
that the executor was also killed. Only a process of the same user can end what is left then.
"""

import asyncio
import logging
from collections.abc import Collection, Mapping, Sequence

from core.gate.gate import Gate
from core.isolation.executors import Executors
from core.runner.supervisor.processes import procfs
from core.store import approvals
from core.store.engine import replicas
from core.store.schema.records import OrphanedRun

_log = logging.getLogger(__name__)
_PATIENCE_S = 30.0
"""How long one user's processes may delay the start of a gateway; an executor answers in ms."""
WITHDRAWN = "the agent that asked for this ended with its gateway"


class ExecutorRecovery:
    """Clean up after gateways that died; ``users`` are those that commands may have run as."""

    def __init__(self, gate: Gate, executors: Executors, users: Collection[str]) -> None:
        self._gate = gate
        self._executors = executors
        self._users = users

    async def __call__(self, orphans: Sequence[OrphanedRun]) -> None:
        """End what is left of runs, by an executor of each user; withdraw what nobody waits for.

        The store does not know the user of a run, and a run's mark leads only to its own processes.
        """
        await self._executors.pool.end_contained()
        if orphans:
            runs: dict[str, list[object]] = {run.id: _leaders(run) for run in orphans}
            ending = (self._end(user, runs) for user in self._users)
            await asyncio.gather(*ending)  # one user's executors do not delay another's
        await self._withdraw()

    async def _end(self, user: str, runs: Mapping[str, Sequence[object]]) -> None:
        try:
            async with asyncio.timeout(_PATIENCE_S):
                await self._executors.pool.end_left(user, runs)
        except TimeoutError:
            _log.error(
                "not everything that dead gateways left running as `%s` could be ended", user
            )

    async def _withdraw(self) -> None:
        store, own = self._gate.store, self._gate.execution.owner
        others = {one.id for one in await store.read(replicas.others, own)}
        waiting = await store.read(approvals.tool_calls)
        ours = await store.read(approvals.asked_here, waiting)
        for run_id, call in waiting.items():
            owner = call.partition(".")[0]
            if owner != own and (run_id in ours or owner not in others):
                await self._gate.cancel(run_id, WITHDRAWN)


def _leaders(run: OrphanedRun) -> list[object]:
    """Return the process that led a run, if its pid still belongs to it."""
    known = run.pid is not None and run.boot_id == procfs.boot_id()
    return [[run.pid, run.start_ticks]] if known else []

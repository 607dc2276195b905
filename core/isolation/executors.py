"""Keep one runner for each Unix user, all of them on the executors of one pool."""

from core.isolation.fair_turns import FairTurns
from core.isolation.pool import ExecutorPool
from core.isolation.supervisors import UserSupervisors
from core.model.identity import ApprovalId
from core.ports import SpawnGuard
from core.runner.limits import Limits
from core.runner.runner import Runner


class Executors:
    """The runners of other Unix users, made when they are first wanted."""

    def __init__(
        self,
        pool: ExecutorPool,
        most: int,
        limits: Limits | None = None,
        guard: SpawnGuard | None = None,
    ) -> None:
        self.pool = pool
        self.turns = FairTurns(most)
        self._limits = limits
        self._guard = guard
        self._runners: dict[str, Runner] = {}

    def runner(self, user: str) -> Runner:
        """Return the runner whose commands run as this user."""
        runner = self._runners.get(user)
        if runner is None:
            supply = UserSupervisors(self.pool, user)
            runner = self._runners[user] = Runner(
                self._limits, guard=self._guard, supply=supply, turns=self.turns
            )
        return runner

    def running(self, run_id: ApprovalId) -> Runner | None:
        """Return the runner that a run is with, ``None`` where it is with none."""
        return next((one for one in self._runners.values() if one.has(run_id)), None)

    async def stop(self) -> None:
        """End every run (TERM, grace, KILL), then every executor."""
        for runner in self._runners.values():
            await runner.stop()
        await self.pool.stop()

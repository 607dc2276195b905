"""Keep one runner for each Unix user; its supervisors are started by executors of one pool."""

from core.errors import SpawnError
from core.isolation.client import TERMINATED
from core.isolation.executor import Executor
from core.isolation.fair_turns import FairTurns
from core.isolation.pool import ExecutorPool
from core.model.identity import ApprovalId
from core.ports import SpawnGuard
from core.runner.limits import Limits
from core.runner.link import Link
from core.runner.runner import Runner
from core.runner.supply import ANY, Order


class UserSupervisors:
    """The supervisors of one Unix user; implements ``core.runner.supply.Supply``."""

    lost = f"sayso: {TERMINATED}; the exit status is unknown\n"
    launcher_pid = 0

    def __init__(self, pool: ExecutorPool, user: str) -> None:
        self._pool = pool
        self._user = user
        self._held: dict[Link, Executor] = {}

    async def start(self) -> None:
        """Start nothing: each run gets its own executor."""

    async def stop(self) -> None:
        """End nothing: the owner of the pool, which serves all users, stops it."""

    async def take(self, order: Order = ANY) -> Link:
        """Start an executor of this user, and a supervisor in it.

        Raises:
            HostUnavailable: no executor can be started.
            SpawnError: it ended before it had a supervisor.
        """
        executor = await self._pool.take(self._user)
        try:
            link = await self._pool.calls.begin(executor, order)
        except BaseException:
            self._pool.drop(executor)
            raise
        self._held[link] = executor
        return link

    def put_back(self, link: Link) -> None:
        """End the supervisor and its executor: each serves one request."""
        self.discard(link)

    def discard(self, link: Link) -> None:
        """End a supervisor and its executor."""
        link.close()
        executor = self._held.pop(link, None)
        if executor is not None:
            self._pool.let_go(executor)

    def kill(self, pid: int) -> None:
        """End the executor whose supervisor does not answer, and all that it started."""
        for link, executor in self._held.items():
            if link.pid == pid:
                self._pool.drop(executor)
                return
        raise SpawnError(f"no supervisor has the number {pid}")


class Executors:
    """The runners of other Unix users, each created when it is first needed."""

    def __init__(
        self,
        pool: ExecutorPool,
        most: int,
        limits: Limits | None = None,
        guard: SpawnGuard | None = None,
    ) -> None:
        self.pool = pool
        self.turns = FairTurns(most, pool.lost)
        pool.on_regained = self.turns.regained
        self._limits = limits
        self._guard = guard
        self._runners: dict[str, Runner] = {}

    def runner(self, user: str) -> Runner:
        """Return the runner whose commands run as this user."""
        runner = self._runners.get(user)
        if runner is None:
            supply = UserSupervisors(self.pool, user)
            runner = self._runners[user] = Runner(
                self._limits, guard=self._guard, supply=supply, turns=self.turns.of(user)
            )
        return runner

    def running(self, run_id: ApprovalId) -> Runner | None:
        """Return the runner that has a run, ``None`` if none has it."""
        return next((one for one in self._runners.values() if one.has(run_id)), None)

    async def stop(self) -> None:
        """End every run (TERM, grace, KILL), then every executor."""
        for runner in self._runners.values():
            await runner.stop()
        await self.pool.stop()

"""Give a runner its supervisors: each is started by an executor of its own, as another user."""

from core.errors import SpawnError
from core.isolation.client import TERMINATED
from core.isolation.executor import Executor
from core.isolation.pool import ExecutorPool
from core.runner.link import Link
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
        """Start nothing: there is one executor for each run."""

    async def stop(self) -> None:
        """End nothing: whoever owns the pool of all users stops it."""

    async def take(self, order: Order = ANY) -> Link:
        """Start an executor of this user, and a supervisor in it.

        Raises:
            HostUnavailable: there can be no executor.
            SpawnError: it ended before it had a supervisor.
        """
        executor = await self._pool.take(self._user)
        link = await self._pool.begin(executor, order)
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

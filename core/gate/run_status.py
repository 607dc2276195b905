"""Report the status of runs, and let callers wait for an end.

Nothing is held in memory for those who do not wait.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from core.errors import Stopping, StoreError
from core.gate.journal.deferred import Deferred
from core.model.command import ExecPlan
from core.model.identity import AgentId, ApprovalId
from core.model.result import ExecResult, Running, Submission
from core.store import Store
from core.store.engine.wakeups import wakeups
from core.store.runs import outcomes
from core.store.views import owners
from core.store.views.status import status_of

_LOOK_AGAIN_S = 5.0
_LOOK_SOON_S = 0.5


class Waiters:
    """Wake whoever waits for a run; a run that ended here is handed over with its whole output.

    ``running`` are the runs that have begun here and not been let go yet, ``deferred`` has the
    results that the store could not take yet.
    """

    def __init__(
        self, store: Store, running: Mapping[ApprovalId, ExecPlan], deferred: Deferred
    ) -> None:
        self._store = store
        self._running = running
        self._deferred = deferred
        self._futures: dict[ApprovalId, set[asyncio.Future[ExecResult]]] = {}
        self._closed = False

    def settle(self, run_id: ApprovalId, result: ExecResult) -> None:
        """Hand a result to everybody who waits for it."""
        for future in self._futures.pop(run_id, ()):
            if not future.done():
                future.set_result(result)

    def close(self) -> None:
        """Send away whoever waits for what does not run here, now and from now on."""
        self._closed = True
        for run_id, futures in self._futures.items():
            if run_id not in self._running:
                for future in futures:
                    if not future.done():
                        future.set_exception(_stopping(run_id))

    async def status(self, run_id: ApprovalId) -> Submission | None:
        """Return the status of a request; ``None`` if none has this id."""
        # Checked first: what has ended in the meantime is in the store by then.
        begun, ended = run_id in self._running, self._deferred.result(run_id)
        if ended is not None:
            return ended
        try:
            status = await self._store.read(status_of, run_id)
        except StoreError:
            status = self._deferred.result(run_id)
            if status is None and not begun:
                raise
        return status or (Running(run_id) if begun else None)

    async def agent_of(self, run_id: ApprovalId) -> AgentId | None:
        """Return the agent that asked; ``None`` if no request has this id."""
        begun = self._running.get(run_id)  # it may not be stored yet
        agent = begun.agent if begun else self._deferred.agent(run_id)
        return agent or await self._store.read(owners.agent_of, run_id)

    async def wait(self, run_id: ApprovalId, timeout_ms: int | None) -> ExecResult | None:
        """Wait for a run's end; ``None`` after ``timeout_ms`` (``None``: as long as it takes).

        Raises:
            Stopping: the gateway stops before it ends.
        """
        if self._closed and timeout_ms != 0 and run_id not in self._running:
            raise _stopping(run_id)
        seconds = None if timeout_ms is None else timeout_ms / 1000
        future: asyncio.Future[ExecResult] = asyncio.get_running_loop().create_future()
        self._futures.setdefault(run_id, set()).add(future)
        watch = asyncio.ensure_future(self._watch(run_id, future))
        try:
            with suppress(TimeoutError):
                return await asyncio.wait_for(future, seconds)
            return None
        finally:
            watch.cancel()
            self._forget(run_id, future)

    def _forget(self, run_id: ApprovalId, future: asyncio.Future[ExecResult]) -> None:
        waiting = self._futures.get(run_id)
        if waiting is not None:
            waiting.discard(future)
            if not waiting:
                del self._futures[run_id]

    async def _watch(self, run_id: ApprovalId, future: asyncio.Future[ExecResult]) -> None:
        """Check the store at each change: the run may end on another gateway, or be denied."""
        try:
            with wakeups(self._store, f"run:{run_id}", f"approval:{run_id}") as changed:
                while not future.done():
                    outcome, pause = await self._look(run_id)
                    # What ends here is settled with its whole output; the store keeps the tail.
                    if outcome is not None and run_id not in self._running:
                        self.settle(run_id, outcome)
                        return
                    await changed.wait(pause)
        except Exception as failure:  # noqa: BLE001 - handed to the waiter, who must not hang
            if not future.done():
                future.set_exception(failure)

    async def _look(self, run_id: ApprovalId) -> tuple[ExecResult | None, float]:
        """Return how a run ended, and after how many seconds to look again.

        A store that is away is waited for: what was asked continues without it.
        """
        ended = self._deferred.result(run_id)
        if ended is not None:
            return ended, _LOOK_AGAIN_S
        try:
            return await self._store.read(outcomes.outcome, run_id), _LOOK_AGAIN_S
        except StoreError:
            return None, _LOOK_SOON_S


def _stopping(run_id: ApprovalId) -> Stopping:
    return Stopping(
        f"The gateway is stopping. Request {run_id} is kept: reconnect and wait for it."
    )

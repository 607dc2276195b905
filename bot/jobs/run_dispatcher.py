"""Start what people allowed, here or before a restart, each run in its own task."""

import asyncio
import logging
from dataclasses import dataclass, field
from functools import partial

from core.errors import SaysoError, Stopping
from core.gate.gate import Gate
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.store import Store
from core.store.engine.wakeups import wakeups

_log = logging.getLogger(__name__)
_LOOK_AGAIN_S = 1.0


@dataclass(slots=True)
class Dispatch:
    """Watches the queue of allowed runs. One that fails before its claim stays queued for a retry.

    One that fails while it is claimed never starts: its claim is given up
    (``core.gate.journal.deferred``).
    """

    gate: Gate
    store: Store
    _tasks: dict[ApprovalId, asyncio.Task[None]] = field(default_factory=dict)

    async def run(self) -> None:
        """Start runs for as long as the task runs."""
        with wakeups(self.store, "approval:") as woken:
            try:
                while True:
                    await self._start_queued()
                    await woken.wait(_LOOK_AGAIN_S)
            finally:
                await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _start_queued(self) -> None:
        try:
            waiting = await self.gate.queued()
        except SaysoError as failure:
            _log.error("cannot read the queue of allowed runs: %s", failure)
            return
        except Exception:  # noqa: BLE001 - one fault must not keep everything from starting for ever
            _log.exception("cannot read the queue of allowed runs")
            return
        for run_id, plan in waiting:
            if run_id not in self._tasks:
                task = asyncio.create_task(self._run(run_id, plan))
                self._tasks[run_id] = task
                task.add_done_callback(partial(self._forget, run_id))

    def _forget(self, run_id: ApprovalId, _task: asyncio.Task[None]) -> None:
        del self._tasks[run_id]

    async def _run(self, run_id: ApprovalId, plan: ExecPlan) -> None:
        try:
            await self.gate.run_approved(run_id, plan)
        except Stopping:
            return  # it stays queued, for the next gateway
        except SaysoError as failure:
            _log.error("cannot start run %s now: %s", run_id, failure)
        except Exception:  # noqa: BLE001 - as above
            _log.exception("cannot start run %s now", run_id)

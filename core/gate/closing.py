"""Close the gate of a gateway that stops: it accepts nothing new and finishes what it accepted."""

import time
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from core.errors import Stopping
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.policy import ExecHost

_LOOK_S = 0.02
_ENDING_S = 5.0
"""Seconds for TERM, grace and KILL of what still runs."""


@dataclass(slots=True)
class Closing:
    """Whether the gate is closed, and what is still in progress.

    ``running`` are the runs that have begun here and not ended yet; ``end`` ends one of them. What
    runs on a node continues there without its gateway, so it is neither waited for nor ended.
    """

    running: Mapping[ApprovalId, ExecPlan]
    end: Callable[[ApprovalId, ExecPlan], Awaitable[object]]
    closed: bool = False
    _inside: int = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Hold the gate open for one request or answer.

        Raises:
            Stopping: it is closed; nothing was changed.
        """
        if self.closed:
            raise Stopping
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    @contextmanager
    def going_on_elsewhere(self, plan: ExecPlan) -> Iterator[None]:
        """Do not hold the gate open for a request while its command runs on a node."""
        held = int(plan.host is ExecHost.NODE)
        self._inside -= held
        try:
            yield
        finally:
            self._inside += held

    async def settle(self, grace_s: float) -> None:
        """Wait until all is done; what runs after ``grace_s`` is ended (TERM, grace, KILL).

        What still does not end is left to whoever stops the runner.
        """
        grace_ends = time.monotonic() + grace_s
        asked: set[ApprovalId] = set()
        while self._busy() and (now := time.monotonic()) < grace_ends + _ENDING_S:
            if now >= grace_ends:
                await self._end_all(asked)
            await sleep(_LOOK_S)

    async def _end_all(self, asked: set[ApprovalId]) -> None:
        """Ask each run to end, once it is where it can be asked, and not again."""
        for run_id, plan in self._here().items():
            if run_id not in asked and await self.end(run_id, plan):
                asked.add(run_id)

    def _busy(self) -> bool:
        return bool(self._inside or self._here())

    def _here(self) -> dict[ApprovalId, ExecPlan]:
        running = self.running.items()
        return {run_id: plan for run_id, plan in running if plan.host is not ExecHost.NODE}

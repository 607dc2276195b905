"""Wake the parts that work by time; the only place that knows APScheduler.

A few fixed jobs, a memory store, no misfire limit (the library's default drops a job that is a
second late): correctness is in SQL, losing a wake-up costs lateness only (``research: store §4``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Protocol

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

_log = logging.getLogger(__name__)
_SWEEP_S = 1.0
_NEXT = "next-deadline"
_LOOK = "look"
_SOON_S = 0.05


class Work(Protocol):
    """What is done by time."""

    async def due(self) -> int | None:
        """End and repeat what is due; return the next time (epoch ms)."""

    async def beat(self) -> None:
        """Say that this gateway lives."""

    async def retain(self) -> None:
        """Forget what is old."""

    async def watch(self) -> None:
        """Look at the gateway's health."""


class Clock:
    """Run the fixed jobs: next deadline, sweep, heartbeat, retention, health."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._armed_ms: int | None = None
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 1},
        )
        self._scheduler.add_listener(_report, EVENT_JOB_ERROR | EVENT_JOB_MISSED)

    def start(self) -> None:
        """Start the jobs in the running event loop."""
        add = self._scheduler.add_job
        add(self._sweep, IntervalTrigger(seconds=_SWEEP_S), id="sweep")
        add(_stoppable(self._work.beat), IntervalTrigger(seconds=2), id="beat")
        add(_stoppable(self._work.watch), IntervalTrigger(seconds=10), id="watch")
        add(_stoppable(self._work.retain), CronTrigger(hour=3, jitter=600), id="retain")
        self._scheduler.start()

    def repeat(self, name: str, seconds: float, job: Callable[[], Awaitable[object]]) -> None:
        """Do this as well, every so many seconds from now on, never twice at a time."""
        self._scheduler.add_job(_stoppable(job), IntervalTrigger(seconds=seconds), id=name)

    def hear(self, note: str) -> None:
        """Look soon at what is due next when a deadline was committed; a listener of the store.

        Soon, and once for many: an answer's own edit must not wait behind a sweep.
        """
        if note not in {"deadline", "resync"} or not self._scheduler.running:
            return
        if self._scheduler.get_job(_LOOK) is None:
            soon = datetime.now(UTC) + timedelta(seconds=_SOON_S)
            self._scheduler.add_job(self._sweep, DateTrigger(run_date=soon), id=_LOOK)

    def stop(self) -> None:
        """Stop all jobs; what was due is done after the next start."""
        self._scheduler.shutdown(wait=False)

    def arm(self, at_ms: int | None) -> None:
        """Wake at ``at_ms`` (epoch ms) unless an earlier wake-up is armed already."""
        if at_ms is None or (self._armed_ms is not None and self._armed_ms <= at_ms):
            return
        self._armed_ms = at_ms
        when = datetime.fromtimestamp(at_ms / 1000, UTC)
        self._scheduler.add_job(
            self._wake, DateTrigger(run_date=when), id=_NEXT, replace_existing=True
        )

    async def _wake(self) -> None:
        self._armed_ms = None
        await self._sweep()

    async def _sweep(self) -> None:
        """Look whether anything is due: a clock that stepped, or a note that was lost."""
        await _stoppable(self._look)()

    async def _look(self) -> None:
        self.arm(await self._work.due())


def _stoppable(job: Callable[[], Awaitable[object]]) -> Callable[[], Awaitable[None]]:
    """Let a job be cut off by the gateway's stop; what was due is done after the next start."""

    async def run() -> None:
        # The scheduler cancels what runs when it stops, and would log that as a failure.
        with suppress(asyncio.CancelledError):
            await job()

    return run


def _report(event: JobExecutionEvent) -> None:
    _log.error("the job %s failed or was missed: %s", event.job_id, event.exception)

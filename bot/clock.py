"""Wake the parts that work by time; the only place that knows APScheduler.

A few fixed jobs, a memory store, no misfire limit (the library's default drops a job that is a
second late): correctness is in SQL, losing a wake-up costs lateness only (``research: store §4``).
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Protocol

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger
from apscheduler.triggers.date import DateTrigger
from apscheduler.triggers.interval import IntervalTrigger

from bot.week_time import WeekTime

_log = logging.getLogger(__name__)
_SWEEP_S = 1.0
_NEXT = "next-deadline"
_LOOK = "look"
_SOON_S = 0.05
_WEEKLY_JITTER_S = 600
_AFTER_START_S = 5.0
_LONG_S = 60.0
"""How long a job may hold up its own next turns before somebody should know."""


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


class _Turns:
    """The turns of one job, one at a time: one that comes while the last still runs is left out.

    The next one does what was due, so nobody is warned, except once of a job that runs for longer
    than ``long_s``. The library would warn each time.
    """

    def __init__(self, name: str, job: Callable[[], Awaitable[object]], long_s: float) -> None:
        self._name = name
        self._job = job
        self._long_s = long_s
        self._since: float | None = None
        self._told = False

    async def take(self) -> None:
        """Do the job unless it still runs; the gateway's stop may cut it off."""
        if self._since is not None:
            self._leave_out(monotonic() - self._since)
            return
        self._since = monotonic()
        try:
            # The scheduler cancels what runs when it stops, and would log that as a failure.
            with suppress(asyncio.CancelledError):
                await self._job()
        finally:
            self._since, self._told = None, False

    def _leave_out(self, runs_s: float) -> None:
        _log.debug("the job %s runs for %.0f s; this turn is left out", self._name, runs_s)
        if runs_s > self._long_s and not self._told:
            self._told = True
            _log.warning(
                "the job %s runs for %.0f s; its turns are left out until it ends. Is the machine "
                "or the store overloaded?",
                self._name,
                runs_s,
            )


class Clock:
    """Run the fixed jobs: next deadline, sweep, heartbeat, retention, health.

    A job that still runs after ``long_s`` when its next turn comes is a warning.
    """

    def __init__(self, work: Work, long_s: float = _LONG_S) -> None:
        self._work = work
        self._long_s = long_s
        self._armed_ms: int | None = None
        self._soon, self._next = (self._turns(name, self._look) for name in (_LOOK, _NEXT))
        # One turn at a time is what ``_Turns`` sees to; one that is left out is over at once.
        self._scheduler = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 3},
        )
        self._scheduler.add_listener(_report, EVENT_JOB_ERROR | EVENT_JOB_MISSED)

    def start(self) -> None:
        """Start the jobs in the running event loop."""
        # A clock that stepped, or a note that was lost, costs a sweep's time at most.
        self.repeat("sweep", _SWEEP_S, self._look)
        self.repeat("beat", 2, self._work.beat)
        self.repeat("watch", 10, self._work.watch)
        retain = self._turns("retain", self._work.retain)
        self._scheduler.add_job(retain.take, CronTrigger(hour=3, jitter=600), id="retain")
        self._scheduler.start()

    def repeat(self, name: str, seconds: float, job: Callable[[], Awaitable[object]]) -> None:
        """Do this as well, every so many seconds from now on, never twice at a time."""
        turns = self._turns(name, job)
        self._scheduler.add_job(turns.take, IntervalTrigger(seconds=seconds), id=name)

    def weekly(
        self,
        name: str,
        at: WeekTime,
        job: Callable[[], Awaitable[object]],
        *,
        jitter_s: int = _WEEKLY_JITTER_S,
        soon_s: float = _AFTER_START_S,
    ) -> None:
        """Do this once a week, at most ``jitter_s`` late, and once ``soon_s`` from now.

        The job sees by itself whether it is due: the gateway may not have run at the time.
        """
        add, missed = self._scheduler.add_job, f"{name}-missed"
        when = CronTrigger(
            day_of_week=at.weekday,
            hour=at.hour,
            minute=at.minute,
            second=at.second,
            timezone=at.zone,
            jitter=jitter_s,
        )
        soon = datetime.now(UTC) + timedelta(seconds=soon_s)
        add(self._turns(missed, job).take, DateTrigger(run_date=soon), id=missed)
        add(self._turns(name, job).take, when, id=name)

    def hear(self, note: str) -> None:
        """Look soon at what is due next when a deadline was committed; a listener of the store.

        Soon, and once for many: an answer's own edit must not wait behind a sweep.
        """
        if note not in {"deadline", "resync"} or not self._scheduler.running:
            return
        if self._scheduler.get_job(_LOOK) is None:
            soon = datetime.now(UTC) + timedelta(seconds=_SOON_S)
            self._scheduler.add_job(self._soon.take, DateTrigger(run_date=soon), id=_LOOK)

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
        await self._next.take()

    async def _look(self) -> None:
        self.arm(await self._work.due())

    def _turns(self, name: str, job: Callable[[], Awaitable[object]]) -> _Turns:
        return _Turns(name, job, self._long_s)


def _report(event: JobExecutionEvent) -> None:
    _log.error("the job %s failed or was missed: %s", event.job_id, event.exception)

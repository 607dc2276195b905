"""Wake the parts that work by time; the only module that knows APScheduler.

Whatever happens at fixed intervals, or at a deadline, is timed by the event loop, whose clock
nobody can set. Only calendar times (a time of day, a day of the week) are APScheduler's, and are
recomputed when the wall clock is set. Correctness is ensured in SQL: losing a wake-up only costs a
delay.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC
from time import monotonic
from typing import Protocol

from apscheduler.events import EVENT_JOB_ERROR, EVENT_JOB_MISSED, JobExecutionEvent
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.cron import CronTrigger

from bot.jobs.week_time import WeekTime
from core.errors import SaysoError

_log = logging.getLogger(__name__)
_SWEEP_S = 1.0
_NEXT = "next-deadline"
_LOOK = "look"
_SOON_S = 0.05
_LEAST_S = 0.01
"""The shortest wait for a deadline, so that one that another gateway is ending causes no loop."""
_JUMP_S = 1.0
_WEEKLY_JITTER_S = 600
_AFTER_START_S = 5.0
_LONG_S = 60.0
"""How long a job may delay its own next turns before a warning is logged."""


class Work(Protocol):
    """The timed work."""

    async def due(self) -> int | None:
        """End and repeat what is due; return in how many ms something is due next."""

    async def beat(self) -> None:
        """Record that this gateway is alive."""

    async def retain(self) -> None:
        """Delete what is old."""

    async def watch(self) -> None:
        """Check the gateway's health."""


class _Turns:
    """The turns of one job, one at a time: a turn that comes while the last still runs is skipped.

    The next one does what was due, so there is no warning, except one for a job that runs for
    longer than ``long_s``. A failure is logged, and the next turn comes all the same.
    """

    def __init__(self, name: str, job: Callable[[], Awaitable[object]], long_s: float) -> None:
        self.name = name
        self._job = job
        self._long_s = long_s
        self._since: float | None = None
        self._reported = False

    async def take(self) -> None:
        """Run the job unless it is still running; stopping the gateway may cut it off."""
        if self._since is not None:
            self._leave_out(monotonic() - self._since)
            return
        self._since = monotonic()
        try:
            # Running jobs are cancelled when the clock stops; the library would log that as a
            # failure.
            with suppress(asyncio.CancelledError):
                await self._job()
        except SaysoError as error:
            _log.error("the job %s failed: %s", self.name, error)
        except Exception:  # noqa: BLE001 - whatever it is, the clock must go on
            _log.exception("the job %s failed", self.name)
        finally:
            self._since, self._reported = None, False

    def _leave_out(self, runs_s: float) -> None:
        _log.debug("the job %s has been running for %.0f s; skipping this turn", self.name, runs_s)
        if runs_s > self._long_s and not self._reported:
            self._reported = True
            _log.warning(
                "the job %s has been running for %.0f s; skipping its turns until it ends. The "
                "machine or the store may be overloaded",
                self.name,
                runs_s,
            )


class Clock:
    """Runs the fixed jobs: next deadline, sweep, heartbeat, retention, health.

    A job that is still running after ``long_s`` when its next turn comes causes a warning.
    """

    def __init__(self, work: Work, long_s: float = _LONG_S) -> None:
        self._work = work
        self._long_s = long_s
        self._soon, self._next = (self._turns(name, self._look) for name in (_LOOK, _NEXT))
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._running: set[asyncio.Task[None]] = set()
        self._apart_s = _apart_s()
        # ``_Turns`` ensures one turn at a time; a skipped one returns at once.
        # No misfire limit: the library's default drops a job that is a second late.
        self._calendar = AsyncIOScheduler(
            timezone=UTC,
            job_defaults={"misfire_grace_time": None, "coalesce": True, "max_instances": 3},
        )
        self._calendar.add_listener(_report, EVENT_JOB_ERROR | EVENT_JOB_MISSED)

    def start(self) -> None:
        """Start the jobs in the running event loop."""
        # A lost note costs at most the interval of a sweep.
        self.repeat("sweep", _SWEEP_S, self._look)
        self.repeat("wall", _SWEEP_S, self._follow_wall)
        self.repeat("beat", 2, self._work.beat)
        self.repeat("watch", 10, self._work.watch)
        retain = self._turns("retain", self._work.retain)
        self._calendar.add_job(retain.take, CronTrigger(hour=3, jitter=600), id="retain")
        self._calendar.start()

    def repeat(self, name: str, seconds: float, job: Callable[[], Awaitable[object]]) -> None:
        """Add a job that runs every so many seconds from now on, never twice at a time."""
        turns = self._turns(name, job)

        def turn() -> None:
            self._after(name, seconds, turn)
            self._begin(turns)

        self._after(name, seconds, turn)

    def weekly(
        self,
        name: str,
        at: WeekTime,
        job: Callable[[], Awaitable[object]],
        *,
        jitter_s: int = _WEEKLY_JITTER_S,
        soon_s: float = _AFTER_START_S,
    ) -> None:
        """Add a job that runs once a week, at most ``jitter_s`` late, and once ``soon_s`` from now.

        The job itself checks whether it is due: the gateway may not have been running at the time.
        """
        when = CronTrigger(
            day_of_week=at.weekday,
            hour=at.hour,
            minute=at.minute,
            second=at.second,
            timezone=at.zone,
            jitter=jitter_s,
        )
        missed = self._turns(f"{name}-missed", job)
        self._after(missed.name, soon_s, lambda: self._begin(missed))
        self._calendar.add_job(self._turns(name, job).take, when, id=name)

    def hear(self, note: str) -> None:
        """Check soon what is due next when a deadline was committed; a listener of the store.

        Soon, and once for many: the edit of an answer must not wait for a sweep.
        """
        if note not in {"deadline", "resync"} or not self._calendar.running:
            return
        if _LOOK not in self._timers:
            self._after(_LOOK, _SOON_S, self._look_soon)

    def stop(self) -> None:
        """Stop all jobs; what was due is done after the next start."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for task in self._running:
            task.cancel()
        self._calendar.shutdown(wait=False)

    def arm(self, in_ms: int | None) -> None:
        """Wake ``in_ms`` from now, unless an earlier wake-up is already armed."""
        if in_ms is None:
            return
        armed, wait_s = self._timers.get(_NEXT), max(in_ms / 1000, _LEAST_S)
        if armed is None or armed.when() > asyncio.get_running_loop().time() + wait_s:
            self._after(_NEXT, wait_s, self._wake)

    @property
    def armed(self) -> bool:
        """Whether a wake-up for a deadline is armed."""
        return _NEXT in self._timers

    def _wake(self) -> None:
        del self._timers[_NEXT]
        self._begin(self._next)

    def _look_soon(self) -> None:
        del self._timers[_LOOK]
        self._begin(self._soon)

    def _after(self, name: str, seconds: float, call: Callable[[], None]) -> None:
        """Call once after so many seconds on the event loop's clock, replacing an earlier call."""
        earlier = self._timers.get(name)
        if earlier is not None:
            earlier.cancel()
        self._timers[name] = asyncio.get_running_loop().call_later(seconds, call)

    def _begin(self, turns: _Turns) -> None:
        task = asyncio.get_running_loop().create_task(turns.take())
        self._running.add(task)  # the loop itself keeps only a weak reference
        task.add_done_callback(self._running.discard)

    async def _look(self) -> None:
        self.arm(await self._work.due())

    async def _follow_wall(self) -> None:
        """Adjust calendar jobs to a wall clock that was set, or that advanced during a sleep."""
        apart_s = _apart_s()
        jumped_s, self._apart_s = apart_s - self._apart_s, apart_s
        if jumped_s >= _JUMP_S:
            self._calendar.wakeup()  # what was due in between runs now; later turns stay
        elif jumped_s <= -_JUMP_S:
            for job in self._calendar.get_jobs():
                job.reschedule(job.trigger)

    def _turns(self, name: str, job: Callable[[], Awaitable[object]]) -> _Turns:
        return _Turns(name, job, self._long_s)


def _apart_s() -> float:
    return time.time() - monotonic()


def _report(event: JobExecutionEvent) -> None:
    _log.error("the job %s failed or was missed: %s", event.job_id, event.exception)

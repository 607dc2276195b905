"""Run bound plans: verify, claim, hand over to a supervisor, wait."""

import asyncio
import time
from dataclasses import dataclass, field

from core.errors import SpawnError
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, LiveOutput
from core.ports import RunWatcher
from core.runner.frames import Job
from core.runner.job import job_of
from core.runner.limits import Limits
from core.runner.link import Link
from core.runner.outcome import failure, finished, unseen
from core.runner.pool import Pool
from core.runner.verify import is_warm, verify, warm

_HAND_OVERS = 4
MOST_RUNS = 128
"""Runs at a time, so that processes and descriptors stay bounded; more of them wait."""

BACKSTOP_MS = 20_000
"""How long past its deadline and grace a supervisor may stay silent before it is killed."""


@dataclass(slots=True)
class _Run:
    """A run in progress; ``link`` is set from the moment at which it can be cancelled by word.

    ``fit``: its supervisor said that it takes another job.
    """

    began: float = field(default_factory=time.monotonic)
    link: Link | None = None
    cancelled: bool = False
    fit: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    watchers: list[asyncio.Future[LiveOutput | None]] = field(default_factory=list)
    watched: bool = False

    @property
    def age_ms(self) -> int:
        return round((time.monotonic() - self.began) * 1000)


class Runner:
    """Runs plans on this machine, each under a supervisor of its own."""

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        most_runs: int = MOST_RUNS,
        backstop_ms: int = BACKSTOP_MS,
    ) -> None:
        self._limits = limits or Limits()
        self._backstop_ms = backstop_ms
        self._pool = Pool()
        self._slots = asyncio.Semaphore(most_runs)
        self._runs: dict[ApprovalId, _Run] = {}

    @property
    def launcher_pid(self) -> int:
        """Return the launcher's process number, 0 while there is none."""
        return self._pool.launcher_pid

    async def start(self) -> None:
        """Start the launcher.

        Raises:
            SpawnError: it cannot be started.
        """
        await self._pool.start()

    async def stop(self) -> None:
        """End every run (TERM, grace, KILL), wait for that, and end the launcher."""
        for run_id in tuple(self._runs):
            await self.cancel(run_id)
        patience_s = (self._limits.grace_ms + self._backstop_ms) / 1000
        waits = [asyncio.ensure_future(run.over.wait()) for run in self._runs.values()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=patience_s)
            for wait in late:
                wait.cancel()
        await self._pool.stop()

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a run by TERM, grace and KILL; ``False`` if it does not run here."""
        run = self._runs.get(run_id)
        if run is None:
            return False
        run.cancelled = True
        if run.link is not None:
            run.link.cancel()
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a run printed last; ``None`` if it does not run here, or ends meanwhile."""
        run = self._runs.get(run_id)
        if run is None or run.link is None:
            return None
        waiter: asyncio.Future[LiveOutput | None] = asyncio.get_running_loop().create_future()
        run.watchers.append(waiter)
        run.watched = True
        run.link.ask_tail()
        return await waiter

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Verify the plan, claim the run, start it and wait for its end.

        Neither exit code nor signal in the result means that nobody saw the end.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: nothing ran: not claimed, cancelled before, or refused by the kernel.
        """
        if run_id in self._runs:
            raise SpawnError(f"run {run_id} is in progress; it is not started again")
        run = self._runs[run_id] = _Run()
        try:
            async with self._slots:
                if not is_warm(plan):
                    await asyncio.to_thread(warm, plan)
                link = await self._start(run_id, plan, watcher, run)
                try:
                    return await self._follow(run_id, plan, watcher, run, link)
                finally:
                    # After the result is out: closing wakes the supervisor, ordering the launcher.
                    asyncio.get_running_loop().call_soon(self._release, run, link)
        finally:
            del self._runs[run_id]
            run.over.set()
            _show(run, None)

    def _release(self, run: _Run, link: Link) -> None:
        """Keep a supervisor for another job, unless a word of ours may still be on its way."""
        if run.fit and not run.cancelled and not run.watched:
            self._pool.put_back(link)
        else:
            link.close()
            self._pool.replenish()

    async def _start(
        self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher, run: _Run
    ) -> Link:
        """Hand a verified and claimed plan to a supervisor; until then the supervisor is unused."""
        with verify(plan) as opened:
            job, fds = job_of(run_id, opened, self._limits)
            link = await self._pool.take()
            try:
                await _claim(run_id, watcher, run)
            except BaseException:
                self._pool.put_back(link)
                raise
            link = await self._hand_over(link, job, fds)
        run.link = link
        if run.cancelled:
            link.cancel()
        return link

    async def _hand_over(self, link: Link, job: Job, fds: list[int]) -> Link:
        """Send the job; to another supervisor where this one turns out to be dead.

        A refused send has delivered no whole job, and a job that arrived in part never starts.
        """
        for tries_left in reversed(range(_HAND_OVERS)):
            try:
                await link.send_job(job, fds)
            except OSError as error:
                link.close()
                if not tries_left:
                    raise SpawnError(f"no supervisor took the job: {error.strerror}") from error
                link = await self._pool.take()
            except BaseException:
                link.close()
                raise
            else:
                return link
        raise SpawnError("no supervisor took the job")

    async def _follow(
        self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher, run: _Run, link: Link
    ) -> Finished:
        """Listen to the supervisor until the run has ended."""
        patience_ms = plan.timeout_ms + self._limits.grace_ms + self._backstop_ms
        try:
            async with asyncio.timeout(patience_ms / 1000):
                return await self._listen(run_id, watcher, run, link)
        except TimeoutError:
            self._pool.kill(link.pid)
            return unseen(run_id, run.age_ms, timed_out=True)

    async def _listen(
        self, run_id: ApprovalId, watcher: RunWatcher, run: _Run, link: Link
    ) -> Finished:
        while (report := await link.receive()) is not None:
            if "failed" in report:
                raise failure(report["failed"])
            if "ended" in report:
                run.fit = report["ended"]["fit"]
                return finished(run_id, report["ended"])
            if "tail" in report:
                seen = report["tail"]
                _show(run, LiveOutput(seen["text"], seen["total_bytes"]))
                continue
            leader = report["started"]
            await watcher.identified(leader["pid"], leader["pgid"], leader["start_ticks"])
        return unseen(run_id, run.age_ms, timed_out=False)


def _show(run: _Run, output: LiveOutput | None) -> None:
    """Tell who asked for the output; one report answers all who asked before it."""
    for waiter in run.watchers:
        if not waiter.done():
            waiter.set_result(output)
    run.watchers.clear()


async def _claim(run_id: ApprovalId, watcher: RunWatcher, run: _Run) -> None:
    if not await watcher.claim():
        raise SpawnError(f"run {run_id} could not be claimed, so nothing ran")
    if run.cancelled:
        raise SpawnError(f"run {run_id} was cancelled before it started")

"""Run bound plans: verify, claim, hand over to a supervisor, wait."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace

from core.errors import SpawnError
from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, LiveOutput, OutputChunk
from core.planning.direct_exec import as_started
from core.planning.verify import is_warm, recheck, verify, warm
from core.ports import RunStart, SpawnGuard
from core.runner.active_run import Progress
from core.runner.concurrency import StartOrder, Turns
from core.runner.enclosure import Enclosure, enclose
from core.runner.job import equipped, job_of
from core.runner.limits import Limits
from core.runner.link import Link
from core.runner.pool import Pool
from core.runner.require_claim import cancelled, require_claim
from core.runner.result import failure, finished, unseen
from core.runner.supervisor.protocol import Ended, Job, Next, Private
from core.runner.supply import Order, Supply

_HAND_OVERS = 4
MOST_RUNS = 128
"""Runs at a time, so that processes and descriptors stay bounded; more of them wait."""

BACKSTOP_MS = 20_000
"""How long past its deadline and grace a supervisor may stay silent before it is killed."""

_LATE_S = 0.5
_NOT_A_REPORT = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""What reading a report raises that is not one."""
_log = logging.getLogger(__name__)


class Runner:
    """Runs plans on this machine, each under its own supervisor.

    ``guard`` is consulted immediately before each claim, regardless of who wants the run.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        most_runs: int = MOST_RUNS,
        backstop_ms: int = BACKSTOP_MS,
        guard: SpawnGuard | None = None,
        supply: Supply | None = None,
        turns: StartOrder | None = None,
    ) -> None:
        """Take supervisors from ``supply`` and places from ``turns``.

        By default these are this user's own, and runs start in the order of their requests.
        """
        self._limits = limits or Limits()
        self._backstop_ms = backstop_ms
        self._guard = guard
        self._pool: Supply = Pool() if supply is None else supply
        self._turns: StartOrder = Turns(most_runs) if turns is None else turns
        self._runs: dict[ApprovalId, Progress] = {}

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
        waits = [asyncio.ensure_future(run.over.wait()) for run in self._runs.values()]
        if waits:
            _, late = await asyncio.wait(waits, timeout=self._end_s)
            for wait in late:
                wait.cancel()
        await self._pool.stop()

    def has(self, run_id: ApprovalId) -> bool:
        """Return whether a run is here, from the moment it was asked for until its end."""
        return run_id in self._runs

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a run by TERM, grace and KILL; ``False`` if it does not run here."""
        run = self._runs.get(run_id)
        if run is None:
            return False
        run.cancel()
        self._hurry(run)
        return True

    def _hurry(self, run: Progress) -> None:
        """Wait no longer for the end of a cancelled run than that takes.

        A command can stop its own supervisor (SIGSTOP), which then ends nothing.
        """
        patience = run.patience
        if run.cancelled and patience is not None and not patience.expired():
            until = asyncio.get_running_loop().time() + self._end_s
            patience.reschedule(min(until, patience.when() or until))

    @property
    def _end_s(self) -> float:
        """Return how long the end of a run may take, its supervisor's silence included."""
        return (self._limits.grace_ms + self._backstop_ms) / 1000

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return what a run printed last; ``None`` if it does not run here, or ends first."""
        run = self._runs.get(run_id)
        return None if run is None else await run.tail()

    async def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield what a run prints from start to end, up to the cap on what is kept.

        Nothing is yielded for a run that is not here. Any number may watch; none delays it.
        """
        run = self._runs.get(run_id)
        if run is not None:
            async for chunk in run.chunks():
                yield chunk

    async def run(
        self,
        run_id: ApprovalId,
        plan: ExecPlan,
        start: RunStart,
        enclosure: Enclosure | None = None,
        *,
        private: Private | None = None,
        own: bool = False,
    ) -> Finished:
        """Verify the plan, claim the run, start it and wait for its end.

        Each command is started inside the enclosure, if there is one. ``private`` is the folder
        that is the run's own; a run that fills it, or the disk, is ended. Neither exit code nor
        signal in the result means that the end was not seen. ``own``: no one asked for it, it
        proves a sandbox or ends what runs, so no lockdown stops it.

        Raises:
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: nothing ran: not claimed, cancelled first, or refused by the kernel.
            LockedDown: the guard lets nothing run.
        """
        if run_id in self._runs:
            raise SpawnError(f"run {run_id} is in progress; it is not started again")
        if enclosure is None:
            plan = as_started(plan)
        run = self._runs[run_id] = Progress(enclosure, own=own, private=private)
        try:
            async with self._turns.turn(run.unwanted, plan.session) as begun:
                if not begun:
                    raise cancelled(run_id)
                if not is_warm(plan):
                    await asyncio.to_thread(warm, plan)
                link = await self._start(run_id, plan, start, run)
                try:
                    return await self._ended(run_id, plan, start, run, link)
                finally:
                    # After the result is out: closing wakes the supervisor, ordering the launcher.
                    asyncio.get_running_loop().call_soon(self._release, run, link)
        finally:
            del self._runs[run_id]
            run.finish()

    def _release(self, run: Progress, link: Link) -> None:
        """Keep a supervisor for another job, or have a fresh one made."""
        if run.reusable:
            self._pool.put_back(link)
        else:
            self._pool.discard(link)

    async def _start(
        self, run_id: ApprovalId, plan: ExecPlan, start: RunStart, run: Progress
    ) -> Link:
        """Pass a verified and claimed plan to a supervisor, which is unused until then."""
        with verify(plan) as opened:
            job, fds = job_of(run_id, opened, self._limits)
            if run.enclosure is not None:
                job, fds = enclose(job, fds, run_id, plan, run.enclosure)
            job["private"] = run.private
            run.identities = opened.identities
            run.open_live_output(plan.stdio)
            run.apart = job["limits"] != self._limits.pairs()
            order = Order(run_id, plan.session, run.apart, run.private)
            link = await self._pool.take(order)
            try:
                if self._guard is not None and not run.own:
                    self._guard.check(plan)
                await require_claim(run_id, start, run.unwanted)
            except BaseException:
                self._pool.put_back(link)
                raise
            with equipped(job, fds, plan.stdio, run.live):
                link = await self._hand_over(link, job, fds, order)
        run.start(link)
        return link

    async def _hand_over(self, link: Link, job: Job, fds: list[int], order: Order) -> Link:
        """Send the job, to another supervisor if this one turns out to be dead.

        A refused send has delivered no whole job, and a job that arrived in part never starts. One
        that reads nothing may have been stopped (SIGSTOP) by a command of its user.
        """
        for tries_left in reversed(range(_HAND_OVERS)):
            try:
                async with asyncio.timeout(self._backstop_ms / 1000):
                    await link.send_job(job, fds)
            except TimeoutError:
                self._pool.kill(link.pid)
                self._pool.discard(link)
                raise SpawnError("the supervisor did not take the job; nothing ran") from None
            except OSError as error:
                self._pool.discard(link)
                if not tries_left:
                    raise SpawnError(f"no supervisor took the job: {error.strerror}") from error
                link = await self._pool.take(order)
            except BaseException:
                self._pool.discard(link)
                raise
            else:
                return link
        raise SpawnError("no supervisor took the job")

    async def _ended(
        self, run_id: ApprovalId, plan: ExecPlan, start: RunStart, run: Progress, link: Link
    ) -> Finished:
        """Return how a run ended; unseen where its supervisor, another user's, sends nonsense."""
        try:
            return await self._follow(run_id, plan, start, run, link)
        except _NOT_A_REPORT:
            _log.exception("the supervisor of run %s sent what none sends; it is ended", run_id)
        run.fit = False
        done = unseen(run_id, run.age_ms, run.live, timed_out=False, words=self._pool.lost)
        return replace(done, cancelled=run.cancelled)

    async def _follow(
        self, run_id: ApprovalId, plan: ExecPlan, start: RunStart, run: Progress, link: Link
    ) -> Finished:
        """Listen to the supervisor until the run has ended."""
        timed_out = False
        try:
            async with asyncio.timeout(plan.timeout_ms / 1000 + self._end_s) as run.patience:
                self._hurry(run)
                ended = await self._listen(plan, start, run, link)
        except TimeoutError:
            ended = await self._late(plan, start, run, link)
            if ended is None:
                self._pool.kill(link.pid)
                timed_out = not run.cancelled
        finally:
            run.patience = None
        if run.live is not None:
            run.live.end("" if ended is None else ended["text"])
        if ended is None:
            done = unseen(run_id, run.age_ms, run.live, timed_out=timed_out, words=self._pool.lost)
        else:
            run.fit = ended["fit"]
            done = finished(run_id, plan, ended, run.live)
        return replace(done, cancelled=run.cancelled)

    async def _late(
        self, plan: ExecPlan, start: RunStart, run: Progress, link: Link
    ) -> Ended | None:
        """Return the end that came while this process was stopped or blocked, ``None`` without one.

        Its patience went on meanwhile.
        """
        try:
            async with asyncio.timeout(_LATE_S):
                return await self._listen(plan, start, run, link)
        except TimeoutError:
            return None

    async def _listen(
        self, plan: ExecPlan, start: RunStart, run: Progress, link: Link
    ) -> Ended | None:
        while (report := await link.receive()) is not None:
            if "failed" in report:
                raise failure(report["failed"])
            if "ended" in report:
                return report["ended"]
            if "tail" in report:
                seen = report["tail"]
                run.show(LiveOutput(seen["text"], seen["total_bytes"]))
                continue
            if "next" in report:
                await _bind_again(plan, report["next"], run, link)
                continue
            leader = report["started"]
            await start.identified(leader["pid"], leader["pgid"], leader["start_ticks"])
        return None


async def _bind_again(plan: ExecPlan, due: Next, run: Progress, link: Link) -> None:
    """Let a further pipeline start if all that it depends on is as it was approved.

    A thread checks, because reading what the line has changed may take long.
    """
    group = slice(due["first"], due["end"])
    enclosed = run.enclosure is not None
    found = await asyncio.to_thread(recheck, plan, group, enclosed=enclosed)
    known = run.identities.items()
    renewed = {path: one for path, one in found.identities.items() if (path, one) not in known}
    run.identities |= renewed
    if found.why:
        link.halt(found.why)
    else:
        link.go_on(renewed)

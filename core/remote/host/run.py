"""Run one admitted request on this host: planned, leased, forwarded, recorded (S4)."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from core.errors import JournalError, LockedDown, PlanDrift, SpawnError
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import Basis, DenialReason
from core.model.identity import AgentId, ApprovalId, Intake, Requester, SessionKey
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished, Streams
from core.model.stdio import Capture, Environ, Stdio
from core.planning.planner import Planner, Refusal
from core.ports import PlanRunner
from core.programs.wrappers import is_shell, names_of
from core.remote.acl.acl import ExecTable
from core.remote.denials import Notice, RemoteDenial
from core.remote.host.active_runs import Session
from core.remote.host.exec_log import ExecEvent, ExecLog
from core.remote.host.lease import LeaseEnd
from core.remote.trust.envelope import Order, Sealed
from core.remote.wire.frames import PIECE, SETTLING_MS, Accepted, BadFrame, End, Piece, Renewed
from core.remote.wire.link import Link, LinkLost


@dataclass(frozen=True, slots=True)
class Place:
    """What all runs of a host share."""

    table: ExecTable
    runs: PlanRunner
    planner: Planner
    log: ExecLog


@dataclass(slots=True)
class Hosted:
    """One run. ``take`` handles the envelopes that arrive while it lasts."""

    place: Place
    session: Session
    order: Order
    link: Link
    take: Callable[[Sealed, Session], bool]
    _spawned: asyncio.Task[None] | None = None
    _notices: list[Notice] = field(default_factory=list)

    async def result(self) -> End:
        """Run to the end and return it; every entry of the log is on disk by then."""
        place = self.place
        plan = await asyncio.to_thread(
            plan_of, place.planner, place.table, self.session, self.order
        )
        if isinstance(plan, RemoteDenial):
            return await self._denied(plan)
        try:
            await self.link.send(self._accepted())
        except LinkLost:
            return await self._denied(RemoteDenial.CANCELLED)
        return await self._followed(plan)

    def _accepted(self) -> Accepted:
        longest_ms = self.order.timeout_ms or self.place.table.max_duration_secs * 1000
        length_ms = self.session.lease.length_ms
        return Accepted(lease_ms=length_ms, longest_ms=longest_ms + SETTLING_MS)

    async def _followed(self, plan: ExecPlan) -> End:
        over = self.session.lease.over
        running = asyncio.ensure_future(self._run(plan))
        keeping = asyncio.ensure_future(self._keep())
        try:
            # One turn of the loop, so that the run exists and can be watched.
            await asyncio.sleep(0)
            forwarding = asyncio.ensure_future(self._forward())
            waits: list[asyncio.Future[Finished] | asyncio.Future[LeaseEnd]] = [running, over]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            await self._stopped()
            return await self._ended(running, forwarding)
        finally:
            self.session.lease.release()
            keeping.cancel()
            if not running.done():
                await self.place.runs.cancel(self._run_id)

    @property
    def _run_id(self) -> ApprovalId:
        return ApprovalId(self.session.run_id)

    async def _run(self, plan: ExecPlan) -> Finished:
        return await self.place.runs.run(self._run_id, plan, self)

    async def claim(self) -> bool:
        """Write ``started`` before anything is spawned (``core.ports.RunStart``)."""
        if self.session.lease.ended is not None:
            return False
        await self.place.log.note(ExecEvent.STARTED, self.session.run_id)
        return True

    async def identified(self, pid: int, pgid: int, start_ticks: int) -> None:
        """Record the process that leads the run; the run does not wait for it."""
        noted = self.place.log.spawned(self.session, pid, pgid, start_ticks)
        self._spawned = asyncio.ensure_future(noted)

    async def basis(self) -> Basis:
        """Return that no one was asked: the access list let it run."""
        return Basis()

    async def _keep(self) -> None:
        """Accept renewals and a cancellation; a client that is gone no longer renews."""
        lease = self.session.lease
        try:
            while True:
                frame = await self.link.receive()
                if isinstance(frame, Sealed) and self.take(frame, self.session):
                    await self.link.send(Renewed())
        except (LinkLost, BadFrame):
            lease.end(LeaseEnd.LEASE_EXPIRED)

    async def _forward(self) -> None:
        """Send what is printed, in pieces, up to the caps; then keep draining without sending."""
        try:
            async for chunk in self.place.runs.watch(self._run_id):
                for start in range(0, len(chunk.data), PIECE):
                    part = chunk.data[start : start + PIECE]
                    await self.link.send(Piece.of(chunk.stream, part))
        except LinkLost:
            self.session.lease.end(LeaseEnd.LEASE_EXPIRED)

    async def _stopped(self) -> None:
        """End the run if its lease ended first; the kill comes before the entry about it."""
        why = self.session.lease.ended
        if why is None:
            return
        await self.place.runs.cancel(self._run_id)
        self._notices.append(Notice(why.value))
        await self._noted(ExecEvent(why.value))
        self.session.logged.set()

    async def _ended(
        self, running: "asyncio.Task[Finished]", forwarding: "asyncio.Task[None]"
    ) -> End:
        try:
            finished = await running
        except (PlanDrift, SpawnError):
            forwarding.cancel()
            stopped = self.session.lease.ended is not None
            return await self._denied(
                RemoteDenial.CANCELLED if stopped else RemoteDenial.SPAWN_FAILED
            )
        except (JournalError, LockedDown) as error:
            forwarding.cancel()
            locked = isinstance(error, LockedDown)
            return await self._denied(
                RemoteDenial.LOCKED_DOWN if locked else RemoteDenial.AUDIT_UNAVAILABLE
            )
        end = await self._finished(finished)
        await forwarding
        return end

    async def _finished(self, finished: Finished) -> End:
        streams = finished.streams or Streams()
        self._notices += notices_of(finished, streams, self.place.table)
        if self._spawned is not None:
            await asyncio.gather(self._spawned, return_exceptions=True)
        await self._noted(
            ExecEvent.FINISHED,
            code=finished.exit_code,
            signal=finished.signal,
            durationMs=finished.duration_ms,
            stdoutBytes=streams.stdout.total_bytes,
            stderrBytes=streams.stderr.total_bytes,
            warnings=list(self._notices),
        )
        return End(
            request_id=self.session.request_id,
            code=finished.exit_code,
            signal=finished.signal,
            duration_ms=finished.duration_ms,
            stdout_bytes_total=streams.stdout.total_bytes,
            stderr_bytes_total=streams.stderr.total_bytes,
            truncated=streams.stdout.truncated or streams.stderr.truncated,
            warnings=tuple(self._notices),
        )

    async def _denied(self, reason: RemoteDenial) -> End:
        await self._noted(ExecEvent.DENIED, reason=reason)
        return End(
            request_id=self.session.request_id,
            denial_reason=reason,
            duration_ms=self.session.age_ms,
        )

    async def _noted(self, event: ExecEvent, **record: object) -> None:
        """Write an entry about what has already happened: a failure is only reported."""
        try:
            await self.place.log.note(event, self.session.run_id, **record)
        except JournalError:
            self._notices.append(Notice.AUDIT_INCOMPLETE)


def notices_of(finished: Finished, streams: Streams, table: ExecTable) -> list[Notice]:
    """Return what passed a threshold, and how it ended if not on its own."""
    found = {
        Notice.STDOUT_LARGE: streams.stdout.total_bytes > table.warn_stdout_bytes,
        Notice.STDERR_LARGE: streams.stderr.total_bytes > table.warn_stderr_bytes,
        Notice.DURATION_LONG: finished.duration_ms > table.warn_duration_secs * 1000,
        Notice.TIMED_OUT: finished.timed_out,
        Notice.END_UNSEEN: finished.exit_code is None and finished.signal is None,
    }
    return [notice for notice, true in found.items() if true]


def plan_of(
    planner: Planner, table: ExecTable, session: Session, order: Order
) -> ExecPlan | RemoteDenial:
    """Pin the program on the fixed search path, in ``default_cwd``, with S4's environment.

    Reads and hashes files, so it is called in a thread. A shell under any name is refused.
    """
    policy = ExecPolicy(host=ExecHost.GATEWAY, timeout_ms=table.max_duration_secs * 1000)
    plan = planner.plan(_request(table, session, order), policy, listed=True)
    if isinstance(plan, Refusal):
        bad_cwd = plan.reason is DenialReason.BAD_CWD
        return RemoteDenial.BAD_CWD if bad_cwd else RemoteDenial.BAD_REQUEST
    program = plan.commands[0].executable
    if program is None:
        return RemoteDenial.EXECUTABLE_NOT_FOUND
    if is_shell(names_of(program.path) | names_of(program.realpath)):
        return RemoteDenial.ARGV_NOT_ALLOWED
    return plan


def _request(table: ExecTable, session: Session, order: Order) -> ExecRequest:
    return ExecRequest(
        requester=Requester(Intake.REMOTE, f"{session.agent_id}@{session.machine_id}"),
        session=SessionKey(f"remote:{session.agent_id}"),
        cwd=table.default_cwd,
        argv=order.argv,
        agent=AgentId(session.agent_id),
        timeout_ms=order.timeout_ms,
        stdio=Stdio(
            stdin=order.stdin,
            capture=Capture.SEPARATE,
            most_stdout=table.max_stdout_bytes,
            most_stderr=table.max_stderr_bytes,
        ),
        environ=Environ.REMOTE,
    )

"""Serve other machines' requests on this host: admit, record, run, answer (S4)."""

import logging
from dataclasses import dataclass, field

from core.errors import JournalError
from core.planning.planner import Planner
from core.ports import PlanRunner
from core.remote.denials import RemoteDenial
from core.remote.host.active_runs import Session
from core.remote.host.admission import ORDER, SENDER, AdmissionContext, Condition, first_denial
from core.remote.host.counters import Counters, Strangers
from core.remote.host.exec_log import ExecEvent, ExecLog
from core.remote.host.lease import LEASE_MS, Lease, LeaseEnd
from core.remote.host.run import Hosted, Place
from core.remote.trust.envelope import BadEnvelope, Kind, Opened, Order, Sealed
from core.remote.wire.frames import BadFrame, End
from core.remote.wire.link import Link, LinkLost
from core.trust.ids import new_id

_log = logging.getLogger(__name__)
_FIRST_FRAME_S = 10.0

STRANGE = frozenset(
    (
        RemoteDenial.BAD_REQUEST,
        RemoteDenial.SIGNATURE_INVALID,
        RemoteDenial.WRONG_MACHINE,
        RemoteDenial.EXPIRED,
        RemoteDenial.MACHINE_BINDING_UNVERIFIED,
        RemoteDenial.UNTRUSTED,
    )
)
"""The denials of senders that are unknown here."""


@dataclass(slots=True)
class Service:
    """The host's side. ``sender`` and ``order`` are the conditions, in the page's order."""

    context: AdmissionContext
    runs: PlanRunner
    planner: Planner
    log: ExecLog
    lease_ms: int = LEASE_MS
    sender: tuple[Condition, ...] = SENDER
    order: tuple[Condition, ...] = ORDER
    first_frame_s: float = _FIRST_FRAME_S
    counters: Counters = field(default_factory=Counters)
    strangers: Strangers = field(default_factory=Strangers)
    stopping: bool = False

    async def serve(self, link: Link) -> None:
        """Serve one connection: one request, and the messages about it while it lasts."""
        try:
            end = await self._answer(link)
            if end is not None:
                await link.send(end)
        except LinkLost as lost:
            _log.debug("%s: %s", link.peer, lost)

    def stop(self) -> None:
        """Take no more runs and end those under way; their clients are notified."""
        self.stopping = True
        for session in self.context.sessions:
            session.lease.end(LeaseEnd.HOST_STOPPING)

    async def _answer(self, link: Link) -> End | None:
        try:
            frame = await link.receive(self.first_frame_s)
            if not isinstance(frame, Sealed):
                return await self._strange(link, RemoteDenial.BAD_REQUEST)
            request = frame.opened()
        except (BadFrame, BadEnvelope):
            return await self._strange(link, RemoteDenial.BAD_REQUEST)
        denial = first_denial(self.sender, self.context, request)
        if denial is not None:
            return await self._strange(link, denial, request)
        link.trust()
        order = request.payload.run
        if order is not None:
            return await self._run(link, request, order)
        return await self._cancelled(request)

    async def _cancelled(self, request: Opened) -> End:
        """Cancel a run over a separate connection; the run's own reports how it ended."""
        session = self.context.sessions.find(request.payload)
        request_id = request.payload.request_id
        if session is None or request.payload.kind is not Kind.CANCEL:
            self.counters.deny(RemoteDenial.BAD_REQUEST)
            return End(request_id=request_id, denial_reason=RemoteDenial.BAD_REQUEST)
        session.lease.end(LeaseEnd.CANCELLED)
        await session.logged.wait()
        return End(request_id=request_id)

    async def _strange(
        self, link: Link, denial: RemoteDenial, request: Opened | None = None
    ) -> End | None:
        """Deny a sender that was not admitted; beyond a bound, strangers get no answer."""
        if denial in STRANGE and not self.strangers.answered():
            self.counters.unheard += 1
            return None
        self.counters.deny(denial)
        if request is None:
            record: dict[str, object] = {"from": link.peer}
            request_id = None
        else:
            payload = request.payload
            record = {"from": link.peer, "agent": payload.agent_id, "machine": payload.machine_id}
            request_id = payload.request_id
        try:
            await self.log.note(ExecEvent.DENIED, new_id(), reason=denial, **record)
        except JournalError:
            denial = RemoteDenial.AUDIT_UNAVAILABLE
        return End(request_id=request_id, denial_reason=denial)

    async def _run(self, link: Link, request: Opened, order: Order) -> End:
        """Run what an admitted sender asks for, or say why not."""
        run_id = new_id()
        try:
            end = await self._judged(link, request, order, run_id)
        except JournalError as error:
            _log.critical("the exec log cannot be written, so nothing runs: %s", error)
            end = _refused(request, RemoteDenial.AUDIT_UNAVAILABLE)
        if end.denial_reason is not None:
            self.counters.deny(end.denial_reason)
        else:
            agent_id = request.payload.agent_id
            self.counters.end(agent_id, end.warnings, truncated=end.truncated)
        return end

    async def _judged(self, link: Link, request: Opened, order: Order, run_id: str) -> End:
        payload = request.payload
        await self.log.note(
            ExecEvent.REQUESTED,
            run_id,
            request=payload.request_id,
            agent=payload.agent_id,
            machine=payload.machine_id,
            argv=self.log.masked(order.argv),
        )
        denial = first_denial(self.order, self.context, request)
        if self.stopping:
            denial = RemoteDenial.HOST_STOPPING
        acl = self.context.acl
        if denial is not None or acl is None:
            denial = denial or RemoteDenial.EXEC_DISABLED
            await self.log.note(ExecEvent.DENIED, run_id, reason=denial)
            return _refused(request, denial)
        session = Session(
            agent_id=payload.agent_id,
            machine_id=payload.machine_id,
            request_id=payload.request_id,
            program=order.argv[0],
            lease=Lease(self.lease_ms),
            run_id=run_id,
        )
        place = Place(acl.table, self.runs, self.planner, self.log)
        with self.context.sessions.holding(session):
            self.counters.started += 1
            return await Hosted(place, session, order, link, self.take).result()

    def take(self, sealed: Sealed, session: Session) -> bool:
        """Judge an envelope that arrives while a run lasts; ``True`` if it renewed the lease."""
        try:
            request = sealed.opened()
        except BadEnvelope:
            return False
        denial = first_denial(self.sender, self.context, request)
        if denial is not None:
            self.counters.deny(denial)
            return False
        if not session.owned_by(request.payload):
            return False
        if request.payload.kind is Kind.CANCEL:
            session.lease.end(LeaseEnd.CANCELLED)
            return False
        session.lease.renew()
        return True


def _refused(request: Opened, denial: RemoteDenial) -> End:
    return End(request_id=request.payload.request_id, denial_reason=denial)

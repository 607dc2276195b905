"""Send a gate proof as another machine would: a signed request to remote exec (S4).

A request from somebody unknown would prove only the first half of the check. So this process acts
as a separate machine: its keys are only in memory, and only in memory does this host trust it and
list it, with no vector at all. Whatever it asks must be denied by the access list.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace

from bot.gate_proof.entry_points import ProofAnswer
from core.errors import SaysoError
from core.gate.guards.marks import Mark, Marks
from core.remote.acl.acl import Acl, AclEntry
from core.remote.denials import RemoteDenial
from core.remote.host.admission import AdmissionContext, Condition
from core.remote.trust.contacts import Contact, Contacts, Trust
from core.remote.trust.envelope import Kind, Opened, Order, Sealer
from core.remote.trust.replay_window import wall_clock_ms
from core.remote.wire.connect import NotConnected, connect
from core.remote.wire.frames import Accepted, AnyFrame, BadFrame, End
from core.remote.wire.link import LinkLost
from core.trust.identity import Identity
from core.trust.ids import new_id

_ADMITTED = frozenset(
    (
        RemoteDenial.EXECUTABLE_NOT_FOUND,
        RemoteDenial.BAD_CWD,
        RemoteDenial.CANCELLED,
        RemoteDenial.SPAWN_FAILED,
        RemoteDenial.LOCKED_DOWN,
    )
)
"""Denials that only a request gets that the access list let through."""


class ProvingPeer:
    """The machine that only this process can be."""

    def __init__(self) -> None:
        self.identity = Identity.new()
        self._contact = Contact(
            name=secrets.token_hex(16),
            agent_id=self.identity.agent_id,
            machine_id=self.identity.machine_id,
            trust=Trust.ACCEPT,
        )

    def known(self, contacts: Callable[[], Contacts]) -> Callable[[], Contacts]:
        """Return a reader of the contacts with this one added; the file never has it."""
        return lambda: contacts().added(self._contact)

    def listed(self, acl: Acl | None) -> Acl | None:
        """Return the access list with this pair added, which may run nothing."""
        if acl is None:
            return None
        pair = (self.identity.agent_id, self.identity.machine_id)
        return replace(acl, entries={**acl.entries, pair: AclEntry(*pair, commands=())})


def watched(marks: Marks, conditions: tuple[Condition, ...]) -> tuple[Condition, ...]:
    """Return conditions that record on a mark which of them denied it; they decide as before."""
    return tuple(_watched(marks, condition) for condition in conditions)


def _watched(marks: Marks, condition: Condition) -> Condition:
    def judge(context: AdmissionContext, request: Opened) -> RemoteDenial | None:
        denial = condition(context, request)
        order = request.payload.run
        mark = None if denial is None or order is None else marks.of_vector(order.argv)
        if mark is not None and denial is not None:
            mark.denied_by_listener(denial)
        return denial

    return judge


@dataclass(frozen=True, slots=True)
class RemoteEntryPoint:
    """One address of remote exec; ``host`` is this machine, as others know it."""

    peer: ProvingPeer
    host: Contact

    @property
    def name(self) -> str:
        """Return its name, which contains the address: there may be several."""
        return f"remote {self.host.address}"

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Connect, ask, read one frame, disconnect."""
        sealer = Sealer(self.peer.identity, self.host.machine_id)
        order = Order(argv=mark.argv)
        try:
            link = await connect(self.host)
            try:
                await link.send(sealer.seal(Kind.RUN, new_id(), wall_clock_ms(), order))
                return _read(await link.receive())
            finally:
                await link.close()
        except (NotConnected, LinkLost, BadFrame) as failure:
            raise SaysoError(str(failure)) from None


def _read(frame: AnyFrame) -> ProofAnswer:
    """Read the first answer.

    Raises:
        SaysoError: it is a denial for another reason, or something else.
    """
    if isinstance(frame, Accepted):
        return ProofAnswer.RAN
    if not isinstance(frame, End):
        raise SaysoError("the listener's answer does not say whether it runs")
    denial = frame.denial_reason
    if denial is None or denial in _ADMITTED:
        return ProofAnswer.RAN
    if denial is RemoteDenial.AUDIT_UNAVAILABLE:
        raise SaysoError(denial.sentence)
    return ProofAnswer.HELD

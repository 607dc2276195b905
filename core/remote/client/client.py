"""Ask other machines to run listed commands: the client's side of S4.

One connection per request. A lost connection is not reopened: the host ends the run, and the caller
gets ``connection_lost`` with what is known.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.remote.acl.acl import LARGEST_STDIN
from core.remote.client.call import Call
from core.remote.denials import RemoteDenial
from core.remote.result import RemoteResult
from core.remote.trust.contacts import Contact, ContactsFile, Trust
from core.remote.trust.envelope import Kind, Order, Sealer
from core.remote.trust.replay_window import wall_clock_ms
from core.remote.wire.connect import NotConnected, connect
from core.remote.wire.frames import BadFrame, End
from core.remote.wire.link import LinkLost, StreamLink
from core.trust.identity import Identity
from core.trust.ids import new_id

_ANSWER_S = 30.0


@dataclass(slots=True)
class Client:
    """Speaks for one identity to the contacts of one home."""

    identity: Identity
    contacts: ContactsFile
    _calls: dict[str, Call] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Call]:
        return iter(tuple(self._calls.values()))

    async def run(self, agent_id: str, order: Order, request_id: str | None = None) -> RemoteResult:
        """Run a vector at a contact and return how it ended; a denial is a result.

        Cancelling this coroutine closes the connection, and the host ends the run.

        Raises:
            StateError: the contacts cannot be read.
        """
        request_id = request_id or new_id()
        if len(order.stdin or b"") > LARGEST_STDIN:
            return RemoteResult(request_id, denial_reason=RemoteDenial.STDIN_TOO_LARGE)
        contact = self._contact(agent_id)
        if isinstance(contact, RemoteDenial):
            return RemoteResult(request_id, denial_reason=contact)
        call = Call(
            agent_id, order, Sealer(self.identity, contact.machine_id), request_id=request_id
        )
        try:
            with self._pending(call):
                return await self._followed(call, contact)
        except NotConnected as failure:
            return RemoteResult(request_id, denial_reason=failure.denial)

    async def cancel(self, request_id: str, agent_id: str | None = None) -> bool:
        """Cancel a request: one of ours under way, else one that the named host still runs.

        Raises:
            StateError: the contacts cannot be read.
        """
        call = self._calls.get(request_id)
        if call is not None:
            call.cancelled.set()
            return True
        contact = self._contact(agent_id) if agent_id is not None else None
        if not isinstance(contact, Contact):
            return False
        return await self._cancel_there(contact, request_id)

    def _contact(self, agent_id: str) -> Contact | RemoteDenial:
        contact = self.contacts.read().of_agent(agent_id)
        if contact is None or contact.address is None:
            return RemoteDenial.CONTACT_UNKNOWN
        return contact if contact.trust is Trust.ACCEPT else RemoteDenial.UNTRUSTED

    @contextmanager
    def _pending(self, call: Call) -> Iterator[None]:
        self._calls[call.request_id] = call
        try:
            yield
        finally:
            del self._calls[call.request_id]

    async def _followed(self, call: Call, contact: Contact) -> RemoteResult:
        link = await connect(contact)
        try:
            return await call.follow(link)
        finally:
            await link.close()

    async def _cancel_there(self, contact: Contact, request_id: str) -> bool:
        sealer = Sealer(self.identity, contact.machine_id)
        link: StreamLink | None = None
        try:
            link = await connect(contact)
            await link.send(sealer.seal(Kind.CANCEL, request_id, wall_clock_ms()))
            answer = await link.receive(_ANSWER_S)
        except (NotConnected, LinkLost, BadFrame):
            return False
        finally:
            if link is not None:
                await link.close()
        return isinstance(answer, End) and answer.denial_reason is None

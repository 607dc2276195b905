"""Run two machines in one process: a host with its listener, log and runner, and a client."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from core.model.address import Address
from core.planning.planner import Planner
from core.ports import SpawnGuard
from core.remote.acl.acl import Acl
from core.remote.client.client import Client
from core.remote.host.admission import AdmissionContext
from core.remote.host.exec_log import ExecLog, open_exec_log
from core.remote.host.service import Service
from core.remote.result import RemoteResult
from core.remote.trust.contacts import Contact, Contacts, ContactsFile, Trust
from core.remote.trust.envelope import Kind, Order, Sealed, Sealer
from core.remote.trust.replay_window import wall_clock_ms
from core.remote.wire.connect import connect
from core.remote.wire.frames import AnyFrame
from core.remote.wire.link import StreamLink
from core.remote.wire.listener import Listener
from core.runner.limits import Limits
from core.runner.runner import Runner
from core.trust.certificate import server_context
from core.trust.identity import Identity
from core.trust.ids import new_id

LISTED = (
    ("echo", "hello"),
    ("head", "-n", "<INT>", "/etc/passwd"),
    ("cat",),
    ("sleep", "<INT>"),
    ("env",),
    ("pwd",),
    ("head", "-c", "<INT>", "/dev/zero"),
    ("not-a-program-anywhere",),
)
"""Vectors that the host's list contains unless a test says otherwise."""


def acl_text(
    client: Identity, vectors: Iterable[Sequence[str]] = LISTED, log: str = "", **caps: Any
) -> str:
    """Return an access list for one client."""
    caps = {"enabled": True, **caps, **({"audit_log_path": log} if log else {})}
    lines = ["[exec]", *(f"{key} = {json.dumps(value)}" for key, value in caps.items())]
    lines += ["[[exec.allow]]", 'description = "the client"']
    lines += [f'agent_id = "{client.agent_id}"', f'machine_id = "{client.machine_id}"']
    for argv in vectors:
        lines += ["[[exec.allow.commands]]", f"argv = {json.dumps(list(argv))}"]
    return "\n".join(lines) + "\n"


@dataclass(slots=True)
class Machines:
    """A running host and the client that it knows."""

    folder: Path
    service: Service
    runner: Runner
    log: ExecLog
    log_path: Path
    listener: Listener
    host: Identity
    identity: Identity
    client: Client
    contact: Contact

    async def run(self, *argv: str, **order: Any) -> RemoteResult:
        """Run a vector through the client."""
        return await self.client.run(self.host.agent_id, Order(argv=argv, **order))

    def sealer(self, identity: Identity | None = None) -> Sealer:
        """Return the part that seals for this host."""
        return Sealer(identity or self.identity, self.host.machine_id)

    def sealed(self, *argv: str, identity: Identity | None = None, **order: Any) -> Sealed:
        """Return a request that is valid in every way."""
        wish = Order(argv=argv, **order)
        return self.sealer(identity).seal(Kind.RUN, new_id(), wall_clock_ms(), wish)

    async def link(self) -> StreamLink:
        """Connect as the client does."""
        return await connect(self.contact)

    async def say(self, frame: AnyFrame) -> AnyFrame:
        """Send one frame on its own connection; return the first answer."""
        link = await self.link()
        try:
            await link.send(frame)
            return await link.receive(10)
        finally:
            await link.close()

    def entries(self) -> list[dict[str, Any]]:
        """Return the exec log."""
        return [json.loads(line) for line in self.log_path.read_bytes().splitlines()]

    def kinds(self) -> list[str]:
        """Return the events, in order, without the names of processes."""
        return [one["kind"] for one in self.entries() if one["kind"] != "spawned"]


def contacts_of(home: Path, *contacts: Contact) -> ContactsFile:
    """Write a contacts file."""
    home.mkdir(mode=0o700, exist_ok=True, parents=True)
    file = ContactsFile(home)
    file.write(Contacts(contacts=contacts))
    return file


def contact_of(identity: Identity, **fields: Any) -> Contact:
    """Return a trusted contact."""
    fields = {"name": "peer", "trust": Trust.ACCEPT, **fields}
    return Contact(agent_id=identity.agent_id, machine_id=identity.machine_id, **fields)


@asynccontextmanager
async def two_machines(
    folder: Path,
    *,
    acl: str | None = None,
    vectors: Iterable[Sequence[str]] = LISTED,
    unix: bool = False,
    limits: Limits | None = None,
    lease_ms: int = 15_000,
    most_connections: int = 64,
    write_s: float = 30.0,
    first_frame_s: float = 10.0,
    trusted: bool = True,
    guard: SpawnGuard | None = None,
    **caps: Any,
) -> AsyncIterator[Machines]:
    """Run a host and return it with its client."""
    host, identity = Identity.new(), Identity.new()
    log_path = folder / "exec.log"
    text = acl_text(identity, vectors, **caps) if acl is None else acl
    trust = Trust.ACCEPT if trusted else Trust.REJECT
    known = contacts_of(folder / "host", contact_of(identity, trust=trust))
    log = open_exec_log(log_path, list)
    runner = Runner(limits, guard=guard)
    await runner.start()
    await log.recover()
    admission = AdmissionContext(host.machine_id, Acl.parse(text) if text else None, known.read)
    service = Service(admission, runner, Planner(), log)
    service.lease_ms, service.first_frame_s = lease_ms, first_frame_s
    listener = Listener(service.serve, most_connections, write_s)
    context, fingerprint = server_context(folder / "host")
    address = Address(path=str(folder / "x.sock")) if unix else Address(host="127.0.0.1")
    await listener.open(address, context)
    contact = contact_of(host, address=str(listener.addresses[0]), fingerprint=fingerprint)
    client = Client(identity, contacts_of(folder / "client", contact))
    try:
        yield Machines(
            folder, service, runner, log, log_path, listener, host, identity, client, contact
        )
    finally:
        service.stop()
        await listener.close()
        await runner.stop()
        log.close()


__all__ = ["LISTED", "Machines", "acl_text", "asyncio", "contact_of", "replace", "two_machines"]

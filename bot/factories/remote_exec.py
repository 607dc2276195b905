"""Build remote exec (S4): the host's side if enabled, the client's when first used."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.gate_proof.prover import Prover
from bot.gate_proof.remote import ProvingPeer, RemoteEntryPoint, watched
from bot.settings import Settings
from core.errors import ConfigError
from core.model.address import Address
from core.planning.planner import Planner
from core.remote.acl.acl import Acl, ExecTable
from core.remote.acl.load import load_acl
from core.remote.client.client import Client
from core.remote.host.active_runs import Session
from core.remote.host.admission import ORDER, SENDER, AdmissionContext
from core.remote.host.counters import Counters
from core.remote.host.exec_log import open_exec_log
from core.remote.host.service import Service
from core.remote.trust.contacts import Contact, ContactsFile
from core.remote.wire.listener import Listener
from core.runner.runner import Runner
from core.text.secrets import argument_pieces, mark
from core.trust.certificate import server_context
from core.trust.identity import Identity

_log = logging.getLogger(__name__)
LOG_NAME = "exec-audit.jsonl"
"""The exec log in the home, if the access list names none."""


@dataclass(slots=True)
class RemoteExec:
    """Both sides of remote exec in one gateway."""

    home: Path
    acl: Acl | None
    service: Service | None = None
    listening: tuple[Address, ...] = ()
    _client: Client | None = field(default=None)

    @property
    def enabled(self) -> bool:
        """Return whether anybody could be served: an access list in force, and an address."""
        return self.service is not None and self.acl is not None and self.acl.table.enabled

    @property
    def client(self) -> Client:
        """Return the client's side; the keys of this home are created when it is first used.

        Raises:
            StateError: a key file is unsafe, damaged, or cannot be created.
        """
        if self._client is None:
            self._client = Client(Identity.load(self.home), ContactsFile(self.home))
        return self._client

    @property
    def counters(self) -> Counters:
        """Return the counters."""
        return Counters() if self.service is None else self.service.counters

    @property
    def pending(self) -> int:
        """Return how many requests of our own are under way."""
        return 0 if self._client is None else len(tuple(self._client))

    @property
    def sessions(self) -> tuple[Session, ...]:
        """Return what runs here for other machines."""
        return () if self.service is None else tuple(self.service.context.sessions)


@asynccontextmanager
async def remote_exec(
    settings: Settings, runner: Runner, planner: Planner, prover: Prover
) -> AsyncIterator[RemoteExec]:
    """Serve other machines for as long as the block lasts, if ``remote.listen`` says so.

    Each address is added to the prover.

    Raises:
        ConfigError: the access list is malformed, or the one that was named is missing.
        SaysoError: the exec log, the keys or an address cannot be used.
    """
    home = settings.home
    remote = RemoteExec(home, load_acl(acl_path(settings)))
    if not settings.remote.listen:
        if remote.acl is not None and remote.acl.table.enabled:
            _log.warning(
                "exec-acl.toml is enabled, but remote.listen is empty: no requests are accepted"
            )
        yield remote
        return
    log = open_exec_log(_log_path(home, remote.acl), masked)
    try:
        await log.recover()
        identity, peer, marks = Identity.load(home), ProvingPeer(), prover.guard.marks
        context = AdmissionContext(
            identity.machine_id, peer.listed(remote.acl), peer.known(ContactsFile(home).read)
        )
        sender, order = watched(marks, SENDER), watched(marks, ORDER)
        service = Service(context, runner, planner, log, sender=sender, order=order)
        listener = Listener(service.serve)
        try:
            fingerprint = await _open(listener, settings)
            for address in listener.addresses:
                prover.add(RemoteEntryPoint(peer, _here(identity, address, fingerprint)))
            remote.service, remote.listening = service, tuple(listener.addresses)
            yield remote
        finally:
            service.stop()
            await listener.close()
        log.settle()
    finally:
        log.close()


def acl_path(settings: Settings) -> Path | None:
    """Return the access list that was named, ``None`` for the default one."""
    return None if settings.remote.acl is None else settings.home / settings.remote.acl


def masked(argv: tuple[str, ...]) -> list[str]:
    """Return a vector with its secrets masked, for logs."""
    before = ("", *argv)
    return [
        "".join(
            mark(piece.kind) if piece.kind else piece.text
            for piece in argument_pieces(word, before[place])
        )
        for place, word in enumerate(argv)
    ]


def _log_path(home: Path, acl: Acl | None) -> Path:
    table: ExecTable | None = None if acl is None else acl.table
    if table is None or table.audit_log_path is None:
        return home / LOG_NAME
    return Path(table.audit_log_path)


def _here(identity: Identity, address: Address, fingerprint: str) -> Contact:
    """Return this machine, as others know it at one of its addresses."""
    return Contact(
        name="here",
        agent_id=identity.agent_id,
        machine_id=identity.machine_id,
        address=str(address),
        fingerprint=fingerprint,
    )


async def _open(listener: Listener, settings: Settings) -> str:
    """Open every address and return the fingerprint of the certificate that they present."""
    context, fingerprint = server_context(settings.home)
    for text in settings.remote.listen:
        try:
            address = Address.parse(text)
        except ValueError as error:
            raise ConfigError(f"remote.listen: {text}: {error}.") from None
        await listener.open(address, context)
    places = ", ".join(str(one) for one in listener.addresses)
    _log.info("remote exec: %s; certificate sha256:%s", places, fingerprint)
    return fingerprint

"""Authenticate and admit nodes, and keep track of which are connected.

::

    hello ─▶ auth ─▶ is the signature this key's? ─▶ paired? ─▶ welcome
                                                     no ─▶ waiting ─▶ a person allows it
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.errors import BadRequest, StoreError
from core.ipc.allowance import Allowance
from core.model.node import Node, NodeId, PairingRequest
from core.nodes.elapsed import elapsed_s
from core.nodes.frames import (
    LARGEST,
    AnyFrame,
    Auth,
    BadFrame,
    Hello,
    Refused,
    Waiting,
    Welcome,
    proof,
)
from core.nodes.link import LinkLost, NodeLink
from core.trust.identity import is_signed

_log = logging.getLogger(__name__)
_AUTH_S = 10.0
_LOOK_S = 5.0
"""How often a waiting node is looked up without a wake-up, since one may be lost."""
_EXPIRES_MS = 30_000
"""A request that is gone this long before its expiry was denied; later, it may have expired, since
the store's clock may differ."""
_DENIED_S = 3_600.0
_MOST_DENIED = 1_000
_RATE = 4 << 20
"""Bytes per second that are read from one node, however often it connects."""
_A_FRAME = 2 << 10
"""Bytes that a frame counts as in addition to its own."""
MOST_UNKNOWN = 64
"""Connections at a time whose node is not admitted yet."""


def _offset_s() -> float:
    return time.time() - elapsed_s()


class Changes(Protocol):
    """Changes since the last look; a hint that may be lost."""

    async def wait(self, seconds: float | None = None) -> bool:
        """Wait for a change, at most these seconds; return whether there was one."""


class Directory(Protocol):
    """The paired nodes and the requests, as the store keeps them."""

    async def admit(self, node_id: NodeId, token: str, address: str) -> Node | None:
        """Return a paired node that shows its token, ``None`` if it is not paired.

        Raises:
            BadRequest: it is paired with another token.
            StoreError: the store cannot be used.
        """

    async def ask(self, auth: Auth, address: str) -> PairingRequest:
        """Note that a node wants to be paired.

        Raises:
            BadRequest: it may not ask now.
            StoreError: the store cannot be used.
        """

    async def waits(self, node_id: NodeId) -> bool:
        """Return whether a node's request still waits for a person.

        Raises:
            StoreError: the store cannot be used.
        """

    async def listed(self) -> tuple[Node, ...]:
        """Return the paired nodes.

        Raises:
            StoreError: the store cannot be used.
        """

    def changes(self) -> AbstractContextManager[Changes]:
        """Listen to changes of nodes and requests for as long as the block lasts."""


class Answering(Protocol):
    """Handles the frames of nodes that were admitted."""

    async def joined(self, connection: "Connection") -> None:
        """Handle that a node has connected."""

    async def heard(self, connection: "Connection", frame: AnyFrame) -> None:
        """Handle one frame.

        Raises:
            BadFrame: a node never sends that.
        """

    def left(self, connection: "Connection") -> None:
        """Handle that a connection ended."""

    async def dismiss(self, connection: "Connection") -> None:
        """End what a revoked node runs, and wait a short time for that."""

    def forget(self, known: frozenset[NodeId]) -> None:
        """Give up on the runs of nodes that are no longer among these."""


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """One node that was admitted. ``session`` names this connection in what is signed for it.

    ``caps`` are the commands that the node accepts. ``offset_s`` is the time of our clock when the
    connection began, minus the time elapsed: the node counts in the same way, so setting a clock
    in between makes no order late.
    """

    node: Node
    session: str
    link: NodeLink
    caps: tuple[str, ...] = ()
    since_ms: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    offset_s: float = field(default_factory=_offset_s)

    def now_ms(self) -> int:
        """Return the time that both sides use, epoch ms."""
        return round((elapsed_s() + self.offset_s) * 1000)


@dataclass(slots=True)
class Fleet:
    """The connected nodes of one gateway, whose id is ``key``."""

    key: str
    directory: Directory
    answering: Answering
    _connected: dict[NodeId, Connection] = field(default_factory=dict)
    _leaving: set[NodeId] = field(default_factory=set)
    _unknown: int = 0
    _denied: dict[NodeId, float] = field(default_factory=dict)
    _allowances: dict[NodeId, Allowance] = field(default_factory=dict)

    def connection(self, node_id: str | None) -> Connection | None:
        """Return the connection of a node, ``None`` if it is not connected."""
        return None if node_id is None else self._connected.get(NodeId(node_id))

    @property
    def connected(self) -> frozenset[NodeId]:
        """Return the ids of the nodes that are connected."""
        return frozenset(self._connected)

    async def serve(self, link: NodeLink) -> None:
        """Admit one node and handle its frames until its connection ends; the caller closes it."""
        try:
            with self._room() as room:
                connection = await self._let_in(link) if room else None
            if connection is None:
                return
            link.trust(self._allowance_of(connection.node.id))
            await self._stay(connection)
        except LinkLost:
            pass
        except BadFrame as error:
            _log.warning("the connection from %s ends: %s", link.peer, error)

    def _allowance_of(self, node_id: NodeId) -> Allowance:
        """Return how much may be read from a node: a new connection gives it no more."""
        return self._allowances.setdefault(node_id, Allowance(_RATE, LARGEST, _A_FRAME))

    async def watch(self) -> None:
        """End the connections of revoked nodes, for as long as the task lives."""
        with self.directory.changes() as changes:
            while True:
                await changes.wait(_LOOK_S)
                try:
                    paired = {node.id for node in await self.directory.listed()}
                except StoreError as failure:
                    _log.warning("cannot look for revoked nodes: %s", failure)
                    continue
                for connection in tuple(self._connected.values()):
                    if connection.node.id not in paired:
                        self._end(connection)
                self.answering.forget(frozenset(paired | self._leaving))
                for node_id in self._allowances.keys() - paired:
                    del self._allowances[node_id]

    def _end(self, connection: Connection) -> None:
        """End what a revoked node runs, then its connection; it gets nothing new from now on."""
        del self._connected[connection.node.id]
        self._leaving.add(connection.node.id)
        _log.warning("the node %s is revoked; its connection ends", connection.node.name)
        task = asyncio.ensure_future(self._dismiss(connection))
        task.add_done_callback(lambda done: done.exception())

    async def _dismiss(self, connection: Connection) -> None:
        try:
            await self.answering.dismiss(connection)
            await connection.link.send(Refused(why="This node is revoked."))
        finally:
            self._leaving.discard(connection.node.id)
            await connection.link.close()

    @contextmanager
    def _room(self) -> Iterator[bool]:
        """Count a connection as unknown; ``False`` if there are too many."""
        if self._unknown >= MOST_UNKNOWN:
            yield False
            return
        self._unknown += 1
        try:
            yield True
        finally:
            self._unknown -= 1

    async def _let_in(self, link: NodeLink) -> Connection | None:
        offset_s = _offset_s()
        auth = await self._authenticated(link, round((elapsed_s() + offset_s) * 1000))
        if auth is None:
            return None
        node_id = NodeId(auth.node_id)
        try:
            node = await self.directory.admit(node_id, auth.token, link.peer)
            if node is None:
                node = await self._paired(auth, link)
        except BadRequest as refusal:
            await link.send(Refused(why=str(refusal)))
            return None
        if node is None:
            return None
        self._denied.pop(node_id, None)
        await link.send(Welcome(name=node.name))
        return Connection(node, auth.session, link, auth.caps, offset_s=offset_s)

    async def _authenticated(self, link: NodeLink, now_ms: int) -> Auth | None:
        """Return who is at the other end; ``None`` if the signature is not that key's."""
        nonce = secrets.token_hex(16)
        await link.send(Hello(nonce=nonce, gateway=self.key, now_ms=now_ms))
        auth = await link.receive(_AUTH_S)
        if not isinstance(auth, Auth):
            raise BadFrame("it did not begin with auth")
        if is_signed(auth.node_id, auth.signature, proof(nonce, self.key, auth.session)):
            return auth
        await link.send(Refused(why="The signature is not that of the node's key."))
        return None

    async def _paired(self, auth: Auth, link: NodeLink) -> Node | None:
        """Wait until a person allows the node; ``None`` if no one did in time.

        A key that a person denied prompts no one for an hour, however often its node connects.
        """
        node_id = NodeId(auth.node_id)
        if self._denied.get(node_id, 0.0) > time.monotonic():
            await link.send(Refused(why="A person denied this node. It may ask again in an hour."))
            return None
        asked = await self.directory.ask(auth, link.peer)
        _log.warning("the node %r at %s asks to be paired", auth.name, link.peer)
        await link.send(Waiting(code=asked.code, expires_ms=asked.expires_ms))
        ends = time.monotonic() + (asked.expires_ms - asked.created_ms) / 1000
        gone = asyncio.ensure_future(link.socket.wait_closed())
        with self.directory.changes() as changes:
            try:
                while time.monotonic() < ends and not gone.done():
                    node = await self.directory.admit(node_id, auth.token, link.peer)
                    if node is not None:
                        return node
                    if not await self.directory.waits(node_id):
                        if time.time_ns() // 1_000_000 < asked.expires_ms - _EXPIRES_MS:
                            self._deny(node_id)
                        break
                    await _first(changes, gone)
            finally:
                gone.cancel()
        await link.send(Refused(why="Nobody allowed this node in time, or it was refused."))
        return None

    def _deny(self, node_id: NodeId) -> None:
        """Remember a node that a person denied; forget the oldest if there are too many."""
        self._denied.pop(node_id, None)
        self._denied[node_id] = time.monotonic() + _DENIED_S
        if len(self._denied) > _MOST_DENIED:
            del self._denied[next(iter(self._denied))]

    async def _stay(self, connection: Connection) -> None:
        """Handle a node's frames until it leaves; a newer connection replaces an older one."""
        node_id = connection.node.id
        older = self._connected.get(node_id)
        self._connected[node_id] = connection
        if older is not None:
            await older.link.close()
        try:
            await self.answering.joined(connection)
            while True:
                await self.answering.heard(connection, await connection.link.receive())
        finally:
            if self._connected.get(node_id) is connection:
                del self._connected[node_id]
            self.answering.left(connection)


async def _first(changes: Changes, gone: "asyncio.Future[None]") -> None:
    """Wait for a change, for the other side to leave, or for a while."""
    change = asyncio.ensure_future(changes.wait(_LOOK_S))
    both: set[asyncio.Future[Any]] = {change, gone}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        change.cancel()

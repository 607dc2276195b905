"""Listen for clients: on loopback with TLS, or on a Unix socket that only our user can reach."""

import asyncio
import contextlib
import errno
import logging
import os
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from core.errors import StateError
from core.ipc.peer import peer_of
from core.ipc.socket_file import LONGEST_PATH
from core.ipc.tcp_listener import ACCEPTED_AT_ONCE, MOST_STRANGERS, TcpListener, network_of
from core.ipc.users import owner_of
from core.model.address import Address
from core.remote.wire.frames import LARGEST
from core.remote.wire.link import Link, StreamLink
from core.runner import tcp_peer

_log = logging.getLogger(__name__)
MOST_CONNECTIONS = 64
_HANDSHAKE_S = 5.0
_BACKLOG = 64

Serve = Callable[[Link], Awaitable[None]]


@dataclass(slots=True)
class Listener:
    """The listening sockets of one host; ``serve`` is called with each connection's link.

    At most ``most`` connections are from clients that have proven who they are.
    """

    serve: Serve
    most: int = MOST_CONNECTIONS
    write_s: float = 30.0
    addresses: list[Address] = field(default_factory=list)
    _servers: list[asyncio.Server] = field(default_factory=list)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _known: int = 0

    async def open(self, address: Address, context: ssl.SSLContext) -> None:
        """Listen on an address; port 0 takes a free one, which ``addresses`` then returns.

        Raises:
            StateError: the address cannot listen.
        """
        try:
            server = await (
                self._unix(Path(address.path)) if address.path else self._tls(address, context)
            )
        except OSError as error:
            raise StateError(
                f"remote.listen: {address} cannot listen: {error.strerror}. Another gateway may be "
                "using it."
            ) from error
        self._servers.append(server)
        if not address.path:
            address = Address(host=address.host, port=server.sockets[0].getsockname()[1])
        self.addresses.append(address)

    async def close(self, grace_s: float = 5.0) -> None:
        """Accept no more connections, give the open ones ``grace_s`` seconds, then end them."""
        for server in self._servers:
            server.close()
        for address in self.addresses:
            _remove(address)
        tasks = tuple(self._tasks)
        if tasks:
            await asyncio.wait(tasks, timeout=grace_s)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _tls(self, address: Address, context: ssl.SSLContext) -> asyncio.Server:
        (listener,) = TcpListener.bound(address.host, address.port, whose=counted_as)

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._accept(reader, writer, listener)

        server = await asyncio.start_server(
            accept,
            sock=listener,
            ssl=context,
            ssl_handshake_timeout=_HANDSHAKE_S,
            limit=LARGEST,
            backlog=ACCEPTED_AT_ONCE,
        )
        listener.listen(_BACKLOG)  # asyncio uses one number for both limits
        return server

    async def _unix(self, path: Path) -> asyncio.Server:
        if len(os.fsencode(path)) > LONGEST_PATH:
            raise StateError(
                f"{path} is longer than {LONGEST_PATH} bytes, the limit for a socket path."
            )
        await _refuse_living(path)
        mask = os.umask(0o177)
        try:
            return await asyncio.start_unix_server(
                self._accept, path, limit=LARGEST, backlog=_BACKLOG
            )
        finally:
            os.umask(mask)

    async def _accept(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        listener: TcpListener | None = None,
    ) -> None:
        peer = _peer(writer)
        full = self._known >= self.most or len(self._tasks) >= self.most + MOST_STRANGERS
        if peer is None or full:
            writer.transport.abort()
            return
        link = StreamLink(reader, writer, peer, self.write_s, partial(self._know, writer, listener))
        # A separate task to cancel: asyncio logs the cancellation of this one as an error.
        task = asyncio.ensure_future(self._served(link))
        self._tasks.add(task)
        try:
            await asyncio.wait({task})
        finally:
            self._tasks.discard(task)
            self._known -= link.known

    def _know(self, writer: asyncio.StreamWriter, listener: TcpListener | None) -> None:
        """Count a connection as one from a client that has proven who it is."""
        self._known += 1
        if listener is not None:
            listener.know(writer.transport)

    async def _served(self, link: StreamLink) -> None:
        try:
            await self.serve(link)
        except Exception:  # noqa: BLE001 - one connection's bug must not end the others
            _log.exception("the connection from %s failed", link.peer)
        finally:
            await link.close()


def counted_as(peer: tcp_peer.Address, own: tcp_peer.Address) -> str:
    """Return the user of this machine, or else the network, by which a stranger is counted."""
    try:
        uid = tcp_peer.uid_of(peer, own)
    except OSError:
        uid = None
    return network_of(peer, own) if uid is None else owner_of(uid) or str(uid)


async def _refuse_living(path: Path) -> None:
    """Refuse to replace a socket on which a process answers; one that is left over is replaced.

    Raises:
        OSError: a process listens there.
    """
    try:
        _, writer = await asyncio.open_unix_connection(path)
    except (ConnectionRefusedError, FileNotFoundError):
        return
    writer.close()
    raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))


def _remove(address: Address) -> None:
    if address.path:
        with contextlib.suppress(OSError):
            Path(address.path).unlink()


def _peer(writer: asyncio.StreamWriter) -> str | None:
    """Return who connected, in words; ``None`` for another user on a Unix socket."""
    name = writer.get_extra_info("peername")
    if isinstance(name, tuple):
        return f"{name[0]}:{name[1]}"
    try:
        peer = peer_of(writer.get_extra_info("socket"))
    except OSError:
        return None
    return f"uid {peer.uid} pid {peer.pid}" if peer.uid == os.getuid() else None

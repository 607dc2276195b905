"""Listen for nodes: WebSocket over TLS 1.3, showing the gateway's key."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from websockets.asyncio.server import ServerConnection, serve

from core.errors import StateError
from core.nodes.frames import LARGEST_UNKNOWN
from core.nodes.link import OPTIONS, NodeLink
from core.trust.certificate import key_context
from core.trust.identity import SigningKey

_LOG = logging.getLogger(__name__)
_LIBRARY = _LOG.getChild("websocket")
_LIBRARY.setLevel(logging.CRITICAL)  # it logs whatever strangers send
_HANDSHAKE_S = 10.0
_BACKLOG = 128


@asynccontextmanager
async def listening(
    host: str, port: int, key: SigningKey, answer: Callable[[NodeLink], Awaitable[None]]
) -> AsyncIterator[int]:
    """Answer nodes for as long as the block lasts; yields the port, which 0 leaves to the kernel.

    Raises:
        StateError: the address cannot listen.
    """

    async def served(socket: ServerConnection) -> None:
        link = NodeLink(socket, str(socket.remote_address[0]))
        try:
            await answer(link)
        except Exception:  # noqa: BLE001 - one connection's bug must not end the others
            _LOG.exception("the connection of the node at %s failed", link.peer)

    try:
        server = await serve(
            served,
            host,
            port,
            ssl=key_context(key),
            ssl_handshake_timeout=_HANDSHAKE_S,
            open_timeout=_HANDSHAKE_S,
            backlog=_BACKLOG,
            server_header=None,
            logger=_LIBRARY,
            **{**OPTIONS, "max_size": LARGEST_UNKNOWN},
        )
    except OSError as error:
        raise StateError(f"nodes.listen: {host}:{port} cannot listen: {error.strerror}.") from error
    try:
        yield int(next(iter(server.sockets)).getsockname()[1])
    finally:
        server.close(close_connections=True)
        await server.wait_closed()

"""Listen for nodes: WebSocket over TLS 1.3, with the gateway's key."""

import logging
import ssl
from asyncio.sslproto import SSLProtocol
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from websockets.asyncio.server import ServerConnection, serve

from core.errors import StateError
from core.ipc.tcp_listener import ACCEPTED_AT_ONCE, BACKLOG, TcpListener
from core.nodes.frames import LARGEST_UNKNOWN
from core.nodes.link import OPTIONS, NodeLink
from core.trust.certificate import key_context
from core.trust.identity import SigningKey

_log = logging.getLogger(__name__)
_LIBRARY = _log.getChild("websocket")
_LIBRARY.setLevel(logging.CRITICAL)  # it logs whatever strangers send
_HANDSHAKE_S = 10.0
SSLProtocol.max_size = 32 << 10
"""The size of each connection's read buffer in bytes: two TLS records. asyncio's 256 KiB per
connection are most of what an idle node costs (docs/decisions/0032)."""


@asynccontextmanager
async def listening(
    host: str, port: int, key: SigningKey, answer: Callable[[NodeLink], Awaitable[None]]
) -> AsyncIterator[int]:
    """Serve nodes for as long as the block lasts; yield the port (for 0, the kernel chooses one).

    Raises:
        StateError: the address cannot listen.
    """
    try:
        listeners = TcpListener.bound(host, port)
    except OSError as error:
        words = error.strerror or str(error)
        raise StateError(f"nodes.listen: {host}:{port} cannot listen: {words}.") from error
    context = key_context(key)
    async with AsyncExitStack() as stack:
        for listener in listeners:
            await stack.enter_async_context(_served(listener, context, answer))
        yield int(listeners[0].getsockname()[1])


@asynccontextmanager
async def _served(
    listener: TcpListener, context: ssl.SSLContext, answer: Callable[[NodeLink], Awaitable[None]]
) -> AsyncIterator[None]:
    async def served(socket: ServerConnection) -> None:
        known = partial(listener.know, socket.transport)
        link = NodeLink(socket, str(socket.remote_address[0]), known)
        try:
            await answer(link)
        except Exception:  # noqa: BLE001 - one connection's bug must not end the others
            _log.exception("the connection of the node at %s failed", link.peer)

    server = await serve(
        served,
        sock=listener,
        ssl=context,
        ssl_handshake_timeout=_HANDSHAKE_S,
        open_timeout=_HANDSHAKE_S,
        backlog=ACCEPTED_AT_ONCE,
        server_header=None,
        logger=_LIBRARY,
        **{**OPTIONS, "max_size": LARGEST_UNKNOWN},
    )
    listener.listen(BACKLOG)  # asyncio uses one number for both limits
    try:
        yield
    finally:
        server.close(close_connections=True)
        await server.wait_closed()

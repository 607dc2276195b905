"""Carry frames between a gateway and a node: WebSocket over TLS 1.3, the gateway's key pinned."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from websockets.asyncio.client import ClientConnection
from websockets.asyncio.client import connect as open_websocket
from websockets.asyncio.connection import Connection
from websockets.exceptions import ConnectionClosed, WebSocketException

from core.ipc.allowance import Allowance
from core.nodes.frames import LARGEST, AnyFrame, decode, encode
from core.trust.certificate import client_context, shown_key

PATH = "/v1/node"
PING_S = 10.0
"""Seconds between pings, and for answering one: a half-open connection ends within twice that."""
OPTIONS: Final[dict[str, Any]] = {
    "compression": None,
    "ping_interval": PING_S,
    "ping_timeout": PING_S,
    "close_timeout": 2.0,
    "max_size": LARGEST,
    "max_queue": 8,
}
"""How both ends speak WebSocket."""
_CONNECT_S = 10.0
_WRITE_S = 20.0


class LinkLost(Exception):
    """The other side is gone, silent for too long, or does not read."""


class WrongKey(LinkLost):
    """A host other than the pinned gateway answers; nothing was sent to it."""


@dataclass(slots=True, eq=False)
class NodeLink:
    """One connection; ``peer`` is the address of the other side, which proves nothing.

    ``known`` is called when the other side has proven who it is.
    """

    socket: Connection
    peer: str
    known: Callable[[], None] | None = None
    _allowance: Allowance | None = None

    async def send(self, frame: AnyFrame) -> None:
        """Send a frame; several may send at a time.

        Raises:
            LinkLost: it cannot be known whether it arrived.
            BadFrame: it is too large; nothing was sent.
        """
        text = encode(frame)
        try:
            async with asyncio.timeout(_WRITE_S):
                await self.socket.send(text)
        except (ConnectionClosed, OSError, TimeoutError) as error:
            # What is in doubt is asked on the next connection, so this one must end.
            self.socket.transport.abort()
            raise LinkLost(f"nothing can be sent: {error!r}") from error

    async def receive(self, within_s: float | None = None) -> AnyFrame:
        """Return the next frame.

        Raises:
            LinkLost: no more arrive, or none arrived in time.
            BadFrame: what arrived is not a frame.
        """
        try:
            async with asyncio.timeout(within_s):
                said = await self.socket.recv()
        except TimeoutError:
            raise LinkLost(f"nothing received within {within_s} s") from None
        except (ConnectionClosed, OSError) as error:
            raise LinkLost(f"the connection ended: {error}") from error
        if self._allowance is not None:
            await asyncio.sleep(self._allowance.take(len(said), 1))
        return decode(said)

    def trust(self, allowance: Allowance) -> None:
        """Accept large frames from now on: the other side has proven who it is.

        ``allowance`` limits how much is read from it, on all the connections that it makes.
        """
        self._allowance = allowance
        self.socket.protocol.max_message_size = LARGEST
        if self.known is not None:
            self.known()

    async def close(self) -> None:
        """Close the connection, or drop it if the other side does not answer."""
        await self.socket.close()


async def connect(host: str, port: int, pinned: str) -> NodeLink:
    """Return a link to the gateway that holds the pinned key.

    The key is compared before a byte of WebSocket is sent.

    Raises:
        WrongKey: another host answers.
        LinkLost: none answers.
    """

    def pinned_connection(*args: Any, **options: Any) -> "_Pinned":  # noqa: ANN401 - the library's own
        return _Pinned(pinned, *args, **options)

    try:
        socket = await _Direct(
            f"wss://{f'[{host}]' if ':' in host else host}:{port}{PATH}",
            ssl=client_context(),
            create_connection=cast("type[ClientConnection]", pinned_connection),
            open_timeout=_CONNECT_S,
            proxy=None,
            user_agent_header=None,
            **OPTIONS,
        )
    except (OSError, TimeoutError, WebSocketException) as error:
        raise LinkLost(f"{host}:{port} cannot be reached: {error}") from error
    return NodeLink(socket, host)


class _Direct(open_websocket):
    """A connection to the place that was named, wherever the answer points.

    By a redirect a gateway could have its node connect to any address that the node reaches.
    """

    def process_redirect(self, exc: Exception) -> Exception:
        """Return the answer as the failure that it is."""
        return exc


class _Pinned(ClientConnection):
    """A connection that sends nothing except to the holder of one key."""

    def __init__(self, pinned: str, *args: Any, **options: Any) -> None:  # noqa: ANN401 - the library's own
        super().__init__(*args, **options)
        self._pinned = pinned

    async def handshake(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - the library's own
        """Compare the key, then begin.

        Raises:
            WrongKey: it is a different key.
        """
        connection = cast("ssl.SSLObject", self.transport.get_extra_info("ssl_object"))
        if shown_key(connection) != self._pinned:
            self.transport.abort()
            raise WrongKey("whoever answers does not hold the gateway's key")
        await super().handshake(*args, **options)

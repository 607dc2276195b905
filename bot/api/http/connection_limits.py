"""Limit connections below the level of requests: their number, slow heads, slow readers.

No client may hold more of them than are left for the others; on loopback, which all users of the
machine share, this applies per user. When a client gets none, the client that holds the most, which
may be that client itself, loses its oldest one without a request under way, so that many clients
together keep nobody out either.

uvicorn itself waits forever for the rest of a head and for a client that does not read its answer,
accepts any number of connections that never send a request, and answers garbage in plain text.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import h11
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.frames import Frame

from bot.api.http.client import client_at
from bot.api.http.errors import Fault, FaultCode
from bot.api.http.rate_limits import Places
from core.ipc.tcp_listener import TcpListener

_log = logging.getLogger(__name__)
_MOST_UNREAD = 1 << 20
_MOST_PARTS = 1024
_FAREWELL_S = 1.0
_TOO_MANY = "Too many connections, in total or by this client."


@dataclass(slots=True)
class Deadline:
    """A time limit: unless stopped within ``seconds``, ``missed`` is called."""

    seconds: float
    missed: Callable[[], None]
    _timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start the timer, unless it is already running."""
        if self._timer is None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(self.seconds, self.missed)

    def stop(self) -> None:
        """Stop the timer: what was waited for has happened."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class HttpConnection(H11Protocol):
    """One HTTP connection; ``bounded`` creates the class for one server's limits."""

    most: ClassVar[int] = 512
    patience_s: ClassVar[float] = 10.0
    places: ClassVar[Places] = Places(most)
    listener: TcpListener | None = None

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _quiet()
        self._head_late = Deadline(self.patience_s, self._abort)
        self._read_late = Deadline(self.patience_s, self._abort)
        self._placed = False
        self.counted_as = ""
        self.made_s: float | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Accept the connection, or answer at once that there are too many."""
        if self.listener is not None:
            self.listener.know(transport)
        try:
            self.counted_as = _client_of(transport)
            self._take_place()
        except Fault as fault:
            transport.write(_raw(fault))
            transport.close()
            return
        self.made_s = time.monotonic()
        super().connection_made(transport)
        self._head_late.start()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._head_late.stop()
        self._read_late.stop()
        if self.made_s is not None:
            self._leave_place()
            super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Receive data; a head that was begun has to be complete in time."""
        if not self._placed or self.transport.is_closing():
            return
        if self._idle():
            self._head_late.start()
        super().data_received(data)

    def handle_events(self) -> None:
        """Handle what was read; once a request has begun, stop the timer of its head."""
        super().handle_events()
        if not self._idle():
            self._head_late.stop()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Hand the connection over to the WebSocket protocol."""
        self._head_late.stop()
        self._leave_place()
        super().handle_websocket_upgrade(event)

    def send_400_response(self, msg: str) -> None:
        """Answer data that is not HTTP, in the shape of every error, and disconnect."""
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            self.transport.write(_raw(Fault(FaultCode.BAD_REQUEST, msg)))
        self.transport.close()

    def pause_writing(self) -> None:
        """Wait for the client to read, but not forever."""
        super().pause_writing()
        self._read_late.start()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._read_late.stop()
        super().resume_writing()

    @property
    def can_give_way(self) -> bool:
        """Return whether it holds a place without a complete request under way."""
        return self._placed and (self._idle() or self.cycle.more_body)

    def give_way(self) -> None:
        """Give its place to another connection."""
        self._leave_place()
        self._abort()

    def _take_place(self) -> None:
        """Take a free place, or that of a connection that can give way.

        Raises:
            Fault: there is neither.
        """
        if len(self.connections) < self.most and self.places.enter(self.counted_as):
            self._placed = True
            return
        http = (one for one in self.connections if isinstance(one, HttpConnection))
        idle = (one for one in http if one.can_give_way)
        victim = max(idle, key=self._dispensable, default=None)
        held = self.places.held_by
        if victim is None or held(victim.counted_as) < held(self.counted_as):
            raise Fault(FaultCode.UNAVAILABLE, _TOO_MANY)
        victim.give_way()
        self.places.hold(self.counted_as)
        self._placed = True

    def _dispensable(self, other: "HttpConnection") -> tuple[int, bool, float]:
        """Return a sort key: the oldest connection of the client that holds the most is last."""
        own = other.counted_as == self.counted_as
        return self.places.held_by(other.counted_as), own, -(other.made_s or 0.0)

    def _leave_place(self) -> None:
        if self._placed:
            self._placed = False
            self.places.leave(self.counted_as)

    def _idle(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle  # uvicorn starts without one
        return cycle is None or cycle.response_complete

    def _abort(self) -> None:
        self.transport.abort()


class WebSocketConnection(WebSocketsSansIOProtocol):
    """One WebSocket connection; frames above ``ws_max_size`` end it with 1009."""

    patience_s: ClassVar[float] = 10.0

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, object],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.logger = _quiet()
        self._read_late = Deadline(self.patience_s, self._abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._read_late.stop()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Wait for the client to read, but not forever."""
        super().pause_writing()
        self._read_late.start()

    def resume_writing(self) -> None:
        """Resume writing."""
        self._read_late.stop()
        super().resume_writing()

    def handle_cont(self, event: Frame) -> None:
        """Receive the next part of a message; refuse a message of countless empty parts."""
        if len(self.frames) >= _MOST_PARTS:
            self._abort()
            return
        super().handle_cont(event)

    def handle_parser_exception(self) -> None:
        """Send the reason and disconnect; a peer that does not read it is dropped."""
        super().handle_parser_exception()
        self.loop.call_later(_FAREWELL_S, self._abort)

    def keepalive_timeout(self) -> None:
        """Disconnect a peer that does not answer pings; one that is gone reads no closing frame."""
        super().keepalive_timeout()
        self.loop.call_later(_FAREWELL_S, self._abort)

    def handle_ping(self) -> None:
        """Answer a ping, unless the peer never reads and would fill the memory with answers."""
        super().handle_ping()
        if self.transport.get_write_buffer_size() > _MOST_UNREAD:
            self._abort()

    def _abort(self) -> None:
        self.transport.abort()


def bounded(most: int, patience_s: float) -> tuple[type[HttpConnection], type[WebSocketConnection]]:
    """Return the connection classes of a server with these limits."""
    own = {"most": most, "patience_s": patience_s, "places": Places(most)}
    http = type("BoundedHttp", (HttpConnection,), own)
    return http, type("BoundedWebSocket", (WebSocketConnection,), {"patience_s": patience_s})


def _client_of(transport: asyncio.Transport) -> str:
    """Return what the client of a connection is counted under.

    Raises:
        Fault: the kernel could not be asked.
    """
    peer, own = (transport.get_extra_info(name) for name in ("peername", "sockname"))
    return client_at(peer[:2] if peer else None, own[:2] if own else None).key


def _quiet() -> logging.Logger:
    """Return the logger of connections; a client's errors are not worth a line each.

    What fails on our side is logged by ``Guard``.
    """
    _log.setLevel(logging.CRITICAL)
    return _log


def _raw(fault: Fault) -> bytes:
    answer = fault.response()
    head = f"HTTP/1.1 {fault.status} \r\nContent-Type: application/json\r\nConnection: close\r\n"
    body = bytes(answer.body)
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body

"""Run uvicorn inside the gateway's own event loop, started and stopped with the gateway."""

import asyncio
import contextlib
import logging
import socket
import stat
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from bot.api.http.binding import listeners_of
from bot.api.http.connection_limits import HttpConnection, bounded
from core.errors import StateError
from core.ipc.tcp_listener import ACCEPTED_AT_ONCE, BACKLOG, TcpListener
from core.settings.http import HttpSection, HttpTlsSection

_log = logging.getLogger(__name__)
LARGEST_HEAD = 16 * 1024
"""Maximum bytes of a request's line and headers."""
_GRACE_S = 1
_PING_S = 20.0


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the API listens."""

    host: str
    port: int
    scheme: str

    @property
    def url(self) -> str:
        """Return the base URL; ``[::]``, which also accepts IPv4, cannot be opened itself."""
        host = "0.0.0.0" if self.host == "::" else self.host  # noqa: S104 - as IPv4's is shown
        host = f"[{host}]" if ":" in host else host
        return f"{self.scheme}://{host}:{self.port}"


class _Server(uvicorn.Server):
    """A uvicorn server that leaves signals to the gateway and reports when it listens."""

    def __init__(
        self, config: uvicorn.Config, patience_s: float, listeners: tuple[TcpListener, ...]
    ) -> None:
        super().__init__(config)
        self.listeners = listeners
        self.patience_s = patience_s
        self.listening = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave SIGTERM and SIGINT to whoever runs the gateway."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, and report it; unlike in uvicorn, TLS handshakes have a time limit."""
        del sockets  # uvicorn's way to pass the sockets on
        self.servers = [await self._opened(listener) for listener in self.listeners]
        self.started = True
        self.listening.set()

    async def _opened(self, listener: TcpListener) -> asyncio.Server:
        config = self.config
        patience_s = None if config.ssl is None else self.patience_s
        server = await asyncio.get_running_loop().create_server(
            partial(self._connection, listener),
            sock=listener,
            ssl=config.ssl,
            backlog=ACCEPTED_AT_ONCE,
            ssl_handshake_timeout=patience_s,
        )
        listener.listen(BACKLOG)  # asyncio has one setting for both
        return server

    def _connection(self, listener: TcpListener) -> asyncio.Protocol:
        kind = self.config.http_protocol_class
        found: HttpConnection = kind(self.config, self.server_state, {})  # type: ignore[call-arg,assignment]  # uvicorn types it as any protocol
        found.listener = listener
        return found


@asynccontextmanager
async def serving(app: ASGIApp, section: HttpSection, home: Path) -> AsyncIterator[Listening]:
    """Serve ``app`` for as long as the block lasts; requests under way then have 1 s to end.

    Raises:
        StateError: the address cannot listen, or the certificate cannot be used.
    """
    listeners = listeners_of(section)
    try:
        server = _Server(_config(app, section, home), section.limits.patience, listeners)
        server.config.load()
    except (OSError, ValueError) as wrong:  # ssl.SSLError is an OSError
        for listener in listeners:
            listener.close()
        raise StateError(
            f"http.tls cannot be used: {wrong}. Both files must be PEM, and the key must match the "
            "certificate."
        ) from wrong
    task = asyncio.create_task(server.serve(list(listeners)))
    try:
        await _started(server, task)
        host, port = listeners[0].getsockname()[:2]
        yield Listening(host, port, "http" if section.tls is None else "https")
    finally:
        server.should_exit = True
        await asyncio.gather(task, return_exceptions=True)
        for left in list(server.server_state.connections):
            left.transport.abort()


async def _started(server: _Server, task: "asyncio.Task[None]") -> None:
    ready = asyncio.ensure_future(server.listening.wait())
    try:
        await asyncio.wait({ready, task}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ready.cancel()
    if task.done():
        task.result()
        raise StateError("the API server stopped before it was listening; see the log")


def _config(app: ASGIApp, section: HttpSection, home: Path) -> uvicorn.Config:
    limits = section.limits
    http, websocket = bounded(limits.connections, limits.patience)
    tls: dict[str, Any] = {} if section.tls is None else _tls(section.tls, home)
    return uvicorn.Config(
        app,
        http=http,
        ws=websocket,
        ws_max_size=limits.body_bytes,
        ws_ping_interval=_PING_S,
        ws_ping_timeout=_PING_S,
        ws_per_message_deflate=False,  # a frame's size is then what was sent, never what it becomes
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,  # an address that clients may set themselves limits nobody
        server_header=False,
        timeout_keep_alive=max(1, round(limits.patience)),
        timeout_graceful_shutdown=_GRACE_S,
        h11_max_incomplete_event_size=LARGEST_HEAD,
        **tls,
    )


def _tls(section: HttpTlsSection, home: Path) -> dict[str, Path]:
    key = home / section.key
    if stat.S_IMODE(key.stat().st_mode) & 0o077:
        raise ValueError(f"{key} is readable by others; run chmod 600")
    return {"ssl_certfile": home / section.cert, "ssl_keyfile": key}

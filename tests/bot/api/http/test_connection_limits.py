"""Serve who takes the place of another; drop a peer that makes the gateway hold too much."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from bot.api.http.connection_limits import _MOST_PARTS, _MOST_UNREAD
from bot.api.http.server import serving
from core.settings.http import HttpLimitsSection, HttpSection

MASK = b"\0\0\0\0"
PING, TEXT, FIRST, PART, LAST = b"\x89\x80", b"\x81\x81", b"\x01\x80", b"\x00\x80", b"\x80\x80"
"""Heads of frames from a client: empty ones, and a text of one character."""
KERNELS = 12 * 1024 * 1024
"""More than the kernel takes for a peer that reads nothing."""
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@dataclass
class App:
    """Send so many bytes to the peer, and note what comes from it."""

    sends: int
    heard: asyncio.Queue[str] = field(default_factory=asyncio.Queue)

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket."""
        await receive()
        await send({"type": "websocket.accept"})
        if self.sends:
            await send({"type": "websocket.send", "bytes": bytes(self.sends)})
        self.heard.put_nowait("open")
        while (event := await receive())["type"] == "websocket.receive":
            self.heard.put_nowait(event["text"])
        self.heard.put_nowait("gone")


@asynccontextmanager
async def peer(home: Path, app: App) -> AsyncIterator[asyncio.StreamWriter]:
    """Open a WebSocket to a real server of the app, and read nothing."""
    limits = HttpLimitsSection(patience=60)
    section = HttpSection(enabled=True, listen="127.0.0.1:0", limits=limits)
    async with asyncio.timeout(30), serving(app, section, home) as at:
        reader, writer = await asyncio.open_connection(at.host, at.port, limit=1)
        try:
            writer.write(UPGRADE)
            assert await app.heard.get() == "open"
            yield writer
        finally:
            del reader
            writer.transport.abort()


@pytest.mark.parametrize(("sends", "dropped"), [(_MOST_UNREAD, False), (KERNELS, True)])
async def test_answers_to_pings_are_held_to_a_bound(
    tmp_path: Path, sends: int, *, dropped: bool
) -> None:
    """A peer that sends pings and reads nothing would fill the memory."""
    app = App(sends)
    async with peer(tmp_path, app) as writer:
        writer.write(PING + MASK + TEXT + MASK + b"x")
        assert await app.heard.get() == "x"  # it came with the ping, and was read with it
        writer.write(TEXT + MASK + b"y")
        assert await app.heard.get() == ("gone" if dropped else "y")


@pytest.mark.parametrize(("parts", "dropped"), [(_MOST_PARTS, False), (_MOST_PARTS + 1, True)])
async def test_a_message_has_so_many_parts(tmp_path: Path, parts: int, *, dropped: bool) -> None:
    """The next one is not taken."""
    app = App(0)
    async with peer(tmp_path, app) as writer:
        writer.write(FIRST + MASK + (PART + MASK) * (parts - 2) + LAST + MASK)
        assert await app.heard.get() == ("gone" if dropped else "")


async def answered(scope: Scope, _receive: Receive, send: Send) -> None:
    """Answer every request with nothing."""
    assert scope["type"] == "http"
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body"})


async def test_a_connection_that_takes_the_place_of_an_idle_one_is_served(tmp_path: Path) -> None:
    """The idle one is closed; and the place is free again when its new owner leaves."""
    limits = HttpLimitsSection(connections=2, patience=60)
    section = HttpSection(enabled=True, listen="127.0.0.1:0", limits=limits)
    async with asyncio.timeout(30), serving(answered, section, tmp_path) as at:
        idle, idle_writer = await asyncio.open_connection(at.host, at.port)
        for _ in range(3):
            reader, writer = await asyncio.open_connection(at.host, at.port)
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert await reader.readline() == b"HTTP/1.1 204 No Content\r\n"
            writer.close()
        assert await idle.read() == b""
        idle_writer.close()

"""Sit between a node and its gateway, and break their connections in every way that links do.

The bytes are TLS, so a relay can lose, hold and delay them, and nothing else; that is what a link
can do. It runs in its own thread with its own loop, so that blocking tests can use it.
"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum

_CHUNK = 1 << 16


class Cut(StrEnum):
    """What is done to the connections that are open.

    ``LOST_ORDERS`` and ``LOST_ENDINGS`` drop the bytes of one direction before the link ends;
    ``REORDERED`` lets the node reconnect while the bytes of the old connection are still on
    their way; a half-open link says nothing more, and neither end notices.
    """

    DROPPED = "dropped"
    LOST_ORDERS = "lost orders"
    LOST_ENDINGS = "lost endings"
    DELAYED = "delayed"
    HALF_OPEN = "half-open"
    NODE_SIDE_ONLY = "half-open at the gateway"
    REORDERED = "reordered"


@dataclass(eq=False)
class _Way:
    """One direction of one connection; ``held`` keeps its bytes back, ``lost`` drops them."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    delay_s: float = 0.0
    lost: bool = False
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def pump(self) -> None:
        self.free.set()
        with suppress(OSError):
            while chunk := await self.reader.read(_CHUNK):
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                await self.free.wait()
                if not self.lost:
                    self.writer.write(chunk)
                    await self.writer.drain()
        await self.free.wait()  # the end of a connection is held back like its bytes
        self.writer.transport.abort()


@dataclass(eq=False)
class Relay:
    """A port that forwards to a gateway's; ``cut`` breaks the connections that are open now."""

    target: int
    port: int = 0
    pairs: list[tuple[_Way, _Way]] = field(default_factory=list)
    servers: list[asyncio.Server] = field(default_factory=list)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)

    def cut(self, kind: Cut, seconds: float = 0.5) -> None:
        """Break the open connections; ``seconds``: how long the data that passes is delayed."""
        asyncio.run_coroutine_threadsafe(self._cut(kind, seconds), self._loop).result(20)

    async def _cut(self, kind: Cut, seconds: float) -> None:
        for pair in tuple(self.pairs):
            await self._spoil(kind, seconds, *pair)

    async def _spoil(self, kind: Cut, seconds: float, orders: _Way, endings: _Way) -> None:
        match kind:
            case Cut.DROPPED:
                _end(orders, endings)
            case Cut.LOST_ORDERS | Cut.LOST_ENDINGS:
                (orders if kind is Cut.LOST_ORDERS else endings).lost = True
                self._loop.call_later(seconds, _end, orders, endings)
            case Cut.DELAYED:
                orders.delay_s = endings.delay_s = seconds
                self._loop.call_later(2 * seconds, _hasten, orders, endings)
            case Cut.HALF_OPEN:
                orders.free.clear()
                endings.free.clear()
            case Cut.NODE_SIDE_ONLY | Cut.REORDERED:
                orders.free.clear()
                endings.free.clear()
                orders.writer.transport.abort()  # the node reconnects at once
                if kind is Cut.REORDERED:
                    self._loop.call_later(2 * seconds, endings.free.set)

    async def _serve(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        try:
            far, out = await asyncio.open_connection("127.0.0.1", self.target)
        except OSError:
            back.transport.abort()
            return
        pair = (_Way(far, back), _Way(near, out))
        self.pairs.append(pair)
        try:
            await asyncio.gather(*(way.pump() for way in pair))
        finally:
            self.pairs.remove(pair)


def _end(*ways: _Way) -> None:
    for way in ways:
        way.writer.transport.abort()
        way.free.set()


def _hasten(*ways: _Way) -> None:
    for way in ways:
        way.delay_s = 0.0


@contextmanager
def relay(target: int) -> Iterator[Relay]:
    """Forward a port to another for as long as the block lasts."""
    made, ready = Relay(target), threading.Event()

    async def listen() -> None:
        server = await asyncio.start_server(made._serve, "127.0.0.1", 0)
        made.port = int(server.sockets[0].getsockname()[1])
        made.servers.append(server)
        ready.set()

    def work() -> None:
        made._loop.create_task(listen())
        made._loop.run_forever()

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield made
    finally:
        asyncio.run_coroutine_threadsafe(_all_end(made), made._loop).result(20)
        made._loop.call_soon_threadsafe(made._loop.stop)
        thread.join(20)
        made._loop.close()


async def _all_end(made: Relay) -> None:
    for server in made.servers:
        server.close()
    for pair in tuple(made.pairs):
        _end(*pair)
    while made.pairs:
        await asyncio.sleep(0.01)

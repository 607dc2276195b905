"""Start real servers on real sockets, and talk to them by hand."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from core.errors import BadRequest, StateError
from core.ipc.jsonrpc import Handler, Limits, Notify
from core.ipc.peer import Peer
from core.ipc.unix import Server, listen

Frame = dict[str, object]


class Methods:
    """A few methods; ``ended`` collects how the slow one ended, ``notified`` what was last sent."""

    def __init__(self) -> None:
        self.ended: list[str] = []
        self.notified = -1
        self.any_ended = asyncio.Event()
        self.started = asyncio.Semaphore(0)
        self.release = asyncio.Event()

    async def echo(self, params: Frame, _peer: Peer, _notify: Notify) -> object:
        """Return the params."""
        return params

    async def whoami(self, _params: Frame, peer: Peer, _notify: Notify) -> object:
        """Return the peer."""
        return [peer.pid, peer.uid, peer.gid, peer.start_ticks]

    async def slow(self, params: Frame, _peer: Peer, _notify: Notify) -> object:
        """Wait until released."""
        self.started.release()
        try:
            await self.release.wait()
        except asyncio.CancelledError:
            self.ended.append("cancelled")
            self.any_ended.set()
            raise
        self.ended.append("released")
        return params

    async def fail(self, params: Frame, _peer: Peer, _notify: Notify) -> object:
        """Fail as requested."""
        match params["how"]:
            case "state":
                raise StateError("the home is full")
            case "request":
                raise BadRequest("no such thing")
            case "result":
                return object()
            case "large":
                return "x" * (9 << 20)
            case "timeout":
                raise TimeoutError
            case _:
                raise RuntimeError("a secret: hunter2")

    async def stream(self, params: Frame, _peer: Peer, notify: Notify) -> object:
        """Send as many notifications of as many bytes as requested, then answer."""
        count, size = int(str(params["count"])), int(str(params["size"]))
        for number in range(count):
            self.notified = number
            await notify("tick", {"number": number, "data": "x" * size})
        return count

    def table(self) -> dict[str, Handler]:
        """Return the methods by name."""
        return {
            "echo": self.echo,
            "whoami": self.whoami,
            "slow": self.slow,
            "fail": self.fail,
            "stream": self.stream,
        }


class Talk:
    """A connection that sends and reads raw lines."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def send(self, *frames: object) -> None:
        """Send frames, or lines given as bytes."""
        for frame in frames:
            line = frame if isinstance(frame, bytes) else json.dumps(frame).encode() + b"\n"
            self.writer.write(line)
        await self.writer.drain()

    async def read(self) -> Frame:
        """Read one frame."""
        async with asyncio.timeout(10):
            frame: Frame = json.loads(await self.reader.readuntil(b"\n"))
        return frame

    async def ask(self, frame: object) -> Frame:
        """Send one frame and read its answer."""
        await self.send(frame)
        return await self.read()

    async def ended(self) -> bool:
        """Return whether the server disconnected."""
        async with asyncio.timeout(10):
            return await self.reader.read(1) == b""


def request(method: str, frame_id: object = 1, **params: object) -> Frame:
    """Return a request."""
    return {"jsonrpc": "2.0", "id": frame_id, "method": method, "params": params}


def code(answer: Frame) -> object:
    """Return an answer's error code."""
    error = answer["error"]
    assert isinstance(error, dict)
    return error["code"]


@contextlib.asynccontextmanager
async def talk(path: Path) -> AsyncIterator[Talk]:
    """Connect for as long as the block lasts."""
    reader, writer = await asyncio.open_unix_connection(path, limit=16 << 20)
    try:
        yield Talk(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


@contextlib.asynccontextmanager
async def server(
    path: Path, methods: Methods, limits: Limits | None = None, **options: Any
) -> AsyncIterator[Server]:
    """Listen for as long as the block lasts."""
    path.parent.chmod(0o700)
    served = await listen(path, methods.table(), limits=limits, **options)
    try:
        yield served
    finally:
        await served.close(grace_s=0.1)

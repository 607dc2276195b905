"""Send a gate proof over gateway.sock as any local client does: connect, one frame, one answer."""

import asyncio
import os
import socket
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from bot.gate_proof.entry_points import ProofAnswer, read_answer
from bot.gate_proof.rpc import frame_of, result_of
from core.gate.guards.marks import Mark

_LARGEST_ANSWER = 1 << 20


class SocketEntryPoint:
    """The entry point ``$SAYSO_HOME/gateway.sock``."""

    name = "socket"

    def __init__(self, path: Path) -> None:
        self._path = path

    async def submit(self, mark: Mark) -> ProofAnswer:
        """Request the marked command."""
        return read_answer(await asked(self._path, frame_of(mark)))


async def asked(path: Path, frame: bytes) -> object:
    """Connect, send a frame, read one line, disconnect; return the result in it.

    Raises:
        SaysoError: the answer was an error, or not a frame.
        OSError: it cannot be reached.
    """
    reader, writer = await _opened(path)
    try:
        writer.write(frame + b"\n")
        await writer.drain()
        return result_of(await reader.readline())
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


async def _opened(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect; whoever cancels this leaves no socket open.

    Raises:
        OSError: it cannot be reached.
    """
    # In a thread: if many connect, a non-blocking socket is turned away, not queued.
    threads = ThreadPoolExecutor(1, "gate-proof")
    connecting = threads.submit(_connected, path)
    threads.shutdown(wait=False)
    try:
        ours = await asyncio.wrap_future(connecting)
        return await asyncio.open_unix_connection(sock=ours, limit=_LARGEST_ANSWER)
    except BaseException:
        connecting.add_done_callback(_close)  # now, or in the thread that still connects
        raise


def _close(connecting: "Future[socket.socket]") -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().close()


def _connected(path: Path) -> socket.socket:
    ours = socket.socket(socket.AF_UNIX)
    try:
        ours.connect(os.fspath(path))
    except BaseException:
        ours.close()
        raise
    ours.setblocking(False)
    return ours

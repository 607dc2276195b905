"""Serve JSON-RPC 2.0 on one connection: newline-delimited frames, concurrent requests.

Every request has an ``id`` and is answered once; before that its handler may send notifications.
``$/cancelRequest`` with ``{"id": …}`` is the only notification that is accepted; a request that
asks for something and wants no answer is refused, not run.
"""

import asyncio
import contextlib
import logging
import select
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from core.errors import BadRequest, Forbidden, SaysoError, Stopping, Unauthenticated
from core.ipc.errors import Code, FrameError, Id
from core.ipc.fair_turns import FairTurns, Turn
from core.ipc.frames import (
    MAX_FRAME,
    Call,
    error_frame,
    notification_frame,
    read_frame,
    result_frame,
)
from core.ipc.peer import Peer
from core.ipc.room import FREE, Room

_log = logging.getLogger(__name__)
CANCEL = "$/cancelRequest"
_LOOK_S = 0.25
"""How often a connection that is not being read is checked for a peer that has left."""
_LINGER_S = 1.0


class Notify(Protocol):
    """Send the peer a notification; waits for one that reads slowly, then disconnects it."""

    def __call__(self, method: str, params: Mapping[str, object], /) -> Awaitable[None]:
        """Send it."""


class Admission(Protocol):
    """Return why a request of a connection is not served now, ``None`` if it is."""

    def __call__(self, connection: "Connection", method: str, /) -> str | None:
        """Check one request."""


class Handler(Protocol):
    """A method, which gets params and the peer, returns a JSON value and raises ``SaysoError``."""

    def __call__(
        self, params: dict[str, object], peer: Peer, notify: Notify, /
    ) -> Awaitable[object]:
        """Answer one request; ``notify`` reports progress in the meantime."""


def refusal_frame(frame_id: Id | None, error: SaysoError) -> bytes:
    """Return the answer that reports a failure of ours: code, message, its type and exit code."""
    code = Code.FAILED
    if isinstance(error, BadRequest):
        code = Code.INVALID_PARAMS
    elif isinstance(error, Forbidden | Unauthenticated):
        code = Code.FORBIDDEN
    elif isinstance(error, Stopping):
        code = Code.STOPPING
    kind = {"type": type(error).__name__, "exitCode": error.exit_code}
    return error_frame(frame_id, code, str(error), kind)


@dataclass(frozen=True, slots=True)
class Limits:
    """What one connection may use: requests in flight, seconds of a request and of a write.

    ``first_s`` is how many seconds one without a place may say nothing.
    """

    in_flight: int = 64
    request_s: float = 2 * 86_400
    write_s: float = 30.0
    first_s: float = 10.0


@dataclass(slots=True, eq=False)
class Connection:
    """One peer's connection, served until it ends. Without ``turns``, requests begin at once."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    methods: Mapping[str, Handler]
    peer: Peer
    limits: Limits = field(default_factory=Limits)
    admission: Admission | None = None
    room: Room = field(default_factory=Room)
    turns: FairTurns | None = None
    used_s: float = field(default_factory=time.monotonic)
    _calls: dict[Id, asyncio.Task[None]] = field(default_factory=dict)
    _tasks: dict[asyncio.Task[None], int] = field(default_factory=dict)  # bytes in ``room``
    _held: int = 0  # in ``room``, of the frame that is being read or was just read
    _reading: asyncio.Task[None] | None = None
    _ended: bool = False  # nothing more is written

    async def serve(self) -> None:
        """Read requests until the peer ends; then let those in flight finish while it listens."""
        self._reading = asyncio.ensure_future(self._read())
        try:
            await asyncio.wait((self._reading,))
            await self._settle()
            if not self._reading.cancelled():
                self._reading.result()
        finally:
            self._reading.cancel()
            await self._abandon()
            self._give_back()
            await self._close()

    @property
    def in_flight(self) -> int:
        """Return how many requests are not answered yet."""
        return len(self._tasks)

    def dismiss(self, why: str) -> None:
        """Send the reason for closing this connection, and close it; nothing may be in flight."""
        self._write(error_frame(None, Code.BUSY, why))
        self.stop_reading()

    def stop_reading(self) -> None:
        """Take no further request; ``serve`` returns when those in flight are answered."""
        if self._reading is not None:
            self._reading.cancel()

    async def _read(self) -> None:
        while True:
            try:
                line = await self._line()
            except FrameError as error:
                await self._refuse_flood(error)
                return
            except ConnectionError:
                return
            if not line.endswith(b"\n"):
                if line:
                    await self._send(error_frame(None, Code.PARSE_ERROR, "half a frame"))
                return
            turn = None if self.turns is None else await self.turns.take(self.peer.uid)
            await self._take(line, turn)
            self._give_back()
            if len(self._tasks) >= self.limits.in_flight and not await self._has_room():
                return

    async def _line(self) -> bytes:
        """Return the next line, or the part that was sent before the peer ended.

        Raises:
            FrameError: it is too long, or no room is left for it now.
        """
        pieces = [await self._piece()]
        size = len(pieces[0])
        try:
            while pieces[-1] and not pieces[-1].endswith(b"\n"):
                pieces.append(await self._piece())
                size += len(pieces[-1])
                if size > MAX_FRAME:
                    why = f"a frame is larger than {MAX_FRAME} bytes"
                    raise FrameError(Code.INVALID_REQUEST, why)
                self._hold(size - FREE)
            return b"".join(pieces)
        finally:
            pieces.clear()  # the exception keeps this frame's variables alive

    async def _piece(self) -> bytes:
        """Return the available part of a line, up to the reader's limit; empty at the end."""
        try:
            return await self.reader.readuntil(b"\n")
        except asyncio.IncompleteReadError as end:
            return end.partial
        except asyncio.LimitOverrunError as over:
            return await self.reader.readexactly(over.consumed)

    def _hold(self, size: int) -> None:
        more = size - self._held
        if more <= 0:
            return
        if not self.room.take(self.peer, more):
            words = "too many long requests in progress; wait for their responses"
            raise FrameError(Code.BUSY, words)
        self._held += more

    def _give_back(self) -> None:
        self.room.give_back(self.peer, self._held)
        self._held = 0

    async def _refuse_flood(self, why: FrameError) -> None:
        """Send why and close; read what the peer still sends, or it would lose the answer."""
        self._give_back()
        await self._send(error_frame(None, why.code, str(why)))
        await self._abandon()
        self._ended = True
        with contextlib.suppress(OSError, TimeoutError):
            self.writer.write_eof()
            async with asyncio.timeout(_LINGER_S):
                while await self.reader.read(1 << 20):
                    pass

    async def _has_room(self) -> bool:
        """Wait until fewer requests are in flight; ``False`` if the peer disconnects first."""
        while len(self._tasks) >= self.limits.in_flight:
            await asyncio.wait(self._tasks, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED)
            if self._is_gone():
                return False
        return True

    async def _settle(self) -> None:
        while self._tasks and not self._is_gone():
            await asyncio.wait(self._tasks, timeout=_LOOK_S)

    async def _abandon(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _is_gone(self) -> bool:
        """Return whether the peer closed both directions, not only its sending side."""
        connection = self.writer.get_extra_info("socket")
        if connection is None or connection.fileno() < 0:
            return True
        poll = select.poll()
        poll.register(connection.fileno(), 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))

    async def _take(self, line: bytes, turn: Turn | None) -> None:
        try:
            call = read_frame(line)
            if call.method == CANCEL:
                self._cancel(call)
            else:
                task = self._start(call)
                if turn is not None:
                    task.add_done_callback(turn.end)
                # The task takes its first step now: one cancelled before that never answers.
                await asyncio.sleep(0)
        except FrameError as error:
            await self._send(error_frame(error.id, error.code, str(error)))
            if error.code is Code.BUSY:
                self.stop_reading()

    def _cancel(self, call: Call) -> None:
        target = call.params.get("id")
        task = self._calls.get(target) if isinstance(target, int | str) else None
        if task is not None:
            task.cancel()

    def _start(self, call: Call) -> asyncio.Task[None]:
        handler = self.methods.get(call.method)
        if call.id is None:
            raise FrameError(Code.INVALID_REQUEST, "a request needs an id")
        if handler is None:
            message = f"there is no method {call.method!a}"
            raise FrameError(Code.METHOD_NOT_FOUND, message, call.id)
        if call.id in self._calls:
            raise FrameError(
                Code.INVALID_REQUEST, "a request with this id is already in progress", call.id
            )
        refusal = self.admission and self.admission(self, call.method)
        if refusal:
            raise FrameError(Code.BUSY, refusal, call.id)
        task = asyncio.ensure_future(self._answer(call.id, handler, call))
        self._calls[call.id] = task
        self._tasks[task], self._held = self._held, 0
        task.add_done_callback(self._done)
        return task

    def _done(self, task: asyncio.Task[None]) -> None:
        self.room.give_back(self.peer, self._tasks.pop(task))
        self.used_s = time.monotonic()

    async def _answer(self, frame_id: Id, handler: Handler, call: Call) -> None:
        try:
            frame = await self._outcome(frame_id, handler, call)
        finally:
            del self._calls[frame_id]
        await self._send(frame)

    async def _outcome(self, frame_id: Id, handler: Handler, call: Call) -> bytes:
        deadline = asyncio.timeout(self.limits.request_s)
        try:
            async with deadline:
                return result_frame(frame_id, await handler(call.params, self.peer, self.notify))
        except asyncio.CancelledError:
            return error_frame(frame_id, Code.CANCELLED, "cancelled")
        except SaysoError as error:
            return refusal_frame(frame_id, error)
        except Exception as error:  # noqa: BLE001 - a handler's bug must be answered, and logged
            if isinstance(error, TimeoutError) and deadline.expired():
                return error_frame(frame_id, Code.DEADLINE, "the deadline of the request passed")
            # The text of other exceptions may contain a secret or a path: it stays in the log.
            _log.exception("%s failed", call.method)
            words = "internal error, see the gateway's log"
            return error_frame(frame_id, Code.INTERNAL_ERROR, words)

    async def notify(self, method: str, params: Mapping[str, object]) -> None:
        """Send a notification; a peer that does not read it in time is disconnected."""
        await self._send(notification_frame(method, params))

    async def _send(self, frame: bytes) -> None:
        """Write a frame; a peer that does not read for ``write_s`` is disconnected."""
        if not self._write(frame):
            return
        if not self.writer.transport.get_write_buffer_size():
            return
        try:
            async with asyncio.timeout(self.limits.write_s):
                await self.writer.drain()
        except (ConnectionError, TimeoutError):
            self.writer.transport.abort()

    def _write(self, frame: bytes) -> bool:
        if self._ended or self.writer.is_closing():
            return False
        self.writer.write(frame)
        return True

    async def _close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError, TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await self.writer.wait_closed()
            return
        self.writer.transport.abort()

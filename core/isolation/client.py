"""Call one executor, and receive its notifications."""

import array
import asyncio
import contextlib
import os
import socket
import struct
from collections.abc import Callable, Sequence

from core.errors import SaysoError
from core.ipc.allowance import Allowance
from core.ipc.strict_json import parsed
from core.isolation import wire

_CHUNK = 64 * 1024
_CREDENTIALS = struct.Struct("iII")
_MOST_FDS = 8
_FD = array.array("i").itemsize
_RATE = _BURST = 2 << 20
"""How many bytes per second are read from one executor, and how many at once."""
_ROOM = socket.CMSG_SPACE(_CREDENTIALS.size) + socket.CMSG_SPACE(_MOST_FDS * _FD)
TERMINATED = "Executor terminated unexpectedly"


class CallFailed(SaysoError):
    """The executor refused a call."""


class ExecutorGone(SaysoError):
    """The executor ended, or sent something that no executor sends."""


class Client:
    """The gateway's end of an executor's socket.

    ``on_call`` gets the executor's calls: method, params, and the number by which to answer
    (``reply``), ``None`` for a notification.
    ``uid`` is whose process answers, by the kernel; a message of another user ends it all.
    """

    def __init__(
        self,
        sock: socket.socket,
        on_call: Callable[[str, wire.Object, object], None],
        on_end: Callable[[], None],
    ) -> None:
        self.uid: int | None = None
        self.pid = 0
        self._sock = sock
        self._lines = wire.Lines()
        self._on_call = on_call
        self._on_end = on_end
        self._waiting: dict[int, asyncio.Future[wire.Object]] = {}
        self._next = 0
        self._ended = self._paused = False
        self._resume_at = 0.0
        self._allowance = Allowance(_RATE, _BURST)
        self._replying = asyncio.Lock()
        self._expects = False
        self._descriptors: list[int] = []
        self._sending: set[asyncio.Future[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._loop.add_reader(sock, self._on_readable)

    async def call(
        self, method: str, params: wire.Object, timeout_s: float, fds: Sequence[int] = ()
    ) -> wire.Object:
        """Call a method; its descriptors go with the first byte.

        Raises:
            CallFailed: the executor says why not.
            ExecutorGone: it ended before it answered.
            TimeoutError: it did not answer in time.
        """
        if self._ended:
            raise ExecutorGone(TERMINATED)
        self._next += 1
        number = self._next
        answer: asyncio.Future[wire.Object] = self._loop.create_future()
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(timeout_s):
                await self._send(wire.request(number, method, params), fds)
                return await answer
        except OSError as error:
            if isinstance(error, TimeoutError):
                raise
            raise ExecutorGone(TERMINATED) from error
        finally:
            self._waiting.pop(number, None)
            if not answer.cancel() and not answer.cancelled():
                answer.exception()  # it may have ended while this was being sent

    def pause(self, seconds: float) -> None:
        """Read nothing for this long: an executor that calls too often waits, not fills memory."""
        now = self._loop.time()
        self._resume_at = max(self._resume_at, now) + seconds
        if not self._paused and not self._ended:
            self._paused = True
            self._loop.remove_reader(self._sock)
            self._loop.call_at(self._resume_at, self._resume)

    def _resume(self) -> None:
        if self._ended:
            return
        if self._loop.time() < self._resume_at:
            self._loop.call_at(self._resume_at, self._resume)
            return
        self._paused = False
        self._loop.add_reader(self._sock, self._on_readable)

    async def call_for_descriptor(self, method: str, params: wire.Object, timeout_s: float) -> int:
        """Call a method whose answer brings one descriptor; return that, for the caller to close.

        Raises:
            CallFailed: the executor says why not, or sent none.
            ExecutorGone: it ended before it answered.
            TimeoutError: it did not answer in time.
        """
        self._expects = True
        try:
            await self.call(method, params, timeout_s)
            if not self._descriptors:
                raise CallFailed("no descriptor came with the answer")
            return self._descriptors.pop(0)
        finally:
            self._expects = False
            self._drop_descriptors()

    async def reply(self, line: bytes) -> None:
        """Send the answer to a call from the executor; one that it does not read is dropped."""
        async with self._replying:  # two answers sent in pieces would be mixed
            if not self._ended:
                with contextlib.suppress(OSError):
                    await self._send_all(line)

    def close(self) -> None:
        """Close the socket: the executor ends everything that it started, and itself."""
        self._end()

    async def _send(self, line: bytes, fds: Sequence[int]) -> None:
        sent = socket.send_fds(self._sock, [line], list(fds)) if fds else self._sock.send(line)
        if sent < len(line):
            await self._send_all(line[sent:])

    async def _send_all(self, data: bytes) -> None:
        """Send as the peer reads; the end of the connection ends this as well.

        Raises:
            OSError: it ended first.
        """
        sending = asyncio.ensure_future(self._loop.sock_sendall(self._sock, data))
        self._sending.add(sending)
        try:
            await asyncio.wait((sending,))
        finally:
            self._sending.discard(sending)
            sending.cancel()
        if sending.cancelled():
            raise BrokenPipeError
        sending.result()

    def _on_readable(self) -> None:
        try:
            data, ancillary, _, _ = self._sock.recvmsg(_CHUNK, _ROOM, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            return
        except OSError:
            data, ancillary = b"", []
        if not data or not self._is_from_it(ancillary):
            self._end()
            return
        try:
            lines = self._lines.feed(data)
            wait_s = self._allowance.take(len(data), len(lines))
            if wait_s:
                self.pause(wait_s)
            for line in lines:
                self._hear(_message(line))
        except (wire.LongLine, ValueError, TypeError, AttributeError):
            self._end()

    def _is_from_it(self, ancillary: list[tuple[int, int, bytes]]) -> bool:
        """Check who sent a message, by the kernel; close descriptors that are not expected."""
        for level, kind, content in ancillary:
            if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
                fds = array.array("i", content[: len(content) - len(content) % _FD])
                self._descriptors += fds
                self._drop_descriptors(1 if self._expects else 0)
            elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_CREDENTIALS):
                self.pid, uid, _ = _CREDENTIALS.unpack(content[: _CREDENTIALS.size])
                if self.uid not in {None, uid}:
                    return False
                self.uid = uid
        return self.uid is not None

    def _drop_descriptors(self, but: int = 0) -> None:
        """Close all received but the first few: a flood must not fill the gateway's table."""
        while len(self._descriptors) > but:
            os.close(self._descriptors.pop())

    def _hear(self, message: wire.Object) -> None:
        method = message.get("method")
        if isinstance(method, str):
            params = message.get("params")
            number = message.get("id")
            self._on_call(method, params if isinstance(params, dict) else {}, number)
            return
        number = message.get("id")
        answer = self._waiting.get(number) if isinstance(number, int) else None
        if answer is None or answer.done():
            return
        value, failure = message.get("result"), message.get("error")
        if isinstance(value, dict):
            answer.set_result(value)
        else:
            words = failure.get("message") if isinstance(failure, dict) else "no result"
            answer.set_exception(CallFailed(str(words)))

    def _end(self) -> None:
        if self._ended:
            return
        self._ended = True
        self._loop.remove_reader(self._sock)
        # A writer that is left waits on whatever gets the same number next, and breaks it.
        self._loop.remove_writer(self._sock)
        for sending in self._sending:
            sending.cancel()
        self._sock.close()
        self._drop_descriptors()
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ExecutorGone(TERMINATED))
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon(self._on_end)


def _message(line: bytes) -> wire.Object:
    """Read one message, which is an object of few enough values.

    Raises:
        FrameError, TypeError: it is not a message.
    """
    message = parsed(line)
    if not isinstance(message, dict):
        raise TypeError("a message is an object")
    return message

"""Hold the gateway's end of one supervisor: send it a job, receive its reports."""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import Mapping, Sequence

from core.files.file_identity import FileIdentity
from core.runner.supervisor.protocol import (
    CANCEL,
    GO,
    HALT,
    HEADER,
    LARGEST_FRAME,
    TAIL,
    WATCH,
    Job,
    Report,
    encode,
    encode_text,
    receive,
)

_CHUNK = 256 * 1024
_LONGEST_REASON = 4096


class Link:
    """A supervisor that waits for its job, or runs it; closing the link ends all it started.

    ``served``: it has had a job, so its limits are that job's and cannot be raised any more.
    """

    def __init__(self, sock: socket.socket, pid: int) -> None:
        sock.setblocking(False)
        self.pid = pid
        self.served = False
        self._sock = sock
        self._heard = bytearray()
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None
        self._loop = asyncio.get_running_loop()
        # One reader for life: loop.sock_recv registers again each time, 80 µs per report.
        self._loop.add_reader(sock, self._on_readable)

    def idle(self) -> bool:
        """Return whether the supervisor still waits: a dead one's stream has ended."""
        if self._ended or self._heard:
            return False  # it sent something without a job, so it cannot be trusted either
        try:
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False

    async def send_job(self, job: Job, fds: list[int]) -> None:
        """Send the job; its descriptors go with the first bytes.

        Whoever cancels this has kept a part of the job back: nothing is awaited after the last.

        Raises:
            OSError: the supervisor is gone.
        """
        self.served = True
        frame = memoryview(encode(job))
        sent = socket.send_fds(self._sock, [frame], fds)
        while sent < len(frame):
            await self._room()
            with contextlib.suppress(BlockingIOError):
                sent += self._sock.send(frame[sent:])

    async def _room(self) -> None:
        """Wait until the supervisor has read something."""
        room = asyncio.Event()
        self._loop.add_writer(self._sock, room.set)
        try:
            await room.wait()
        finally:
            self._loop.remove_writer(self._sock)

    def cancel(self) -> None:
        """Ask the supervisor to end its run: TERM, grace, KILL."""
        self._say(CANCEL)

    def ask_tail(self) -> None:
        """Ask the supervisor for a report of what its run printed last."""
        self._say(TAIL)

    def ask_live_output(self, fds: list[int]) -> None:
        """Ask the supervisor to put what its run prints, from the start, on this shelf."""
        self._say(WATCH, fds)

    def go_on(self, renewed: Mapping[str, FileIdentity]) -> None:
        """Let the supervisor start the pipeline that it asked about.

        ``renewed`` are new identities of files, by path: they have the approved content still.
        """
        self._answer(GO + encode_text(json.dumps(renewed)))

    def halt(self, why: str) -> None:
        """Have the supervisor end the line before the pipeline that it asked about."""
        self._answer(HALT + encode_text(why[:_LONGEST_REASON]))

    def _answer(self, words: bytes) -> None:
        """Answer a question; if the answer can be sent only in part, end everything that runs.

        A supervisor that is gone has said how its run ended, which is still to be read.
        """
        try:
            sent = self._sock.send(words)
        except BlockingIOError:
            sent = 0
        except OSError:
            return
        if sent < len(words):
            self.close()

    def _say(self, word: bytes, fds: Sequence[int] = ()) -> None:
        with contextlib.suppress(OSError):  # gone, or asked so often that its buffer is full
            socket.send_fds(self._sock, [word], fds)

    async def receive(self) -> Report | None:
        """Wait for the next report; ``None`` when the supervisor is gone."""
        while True:
            body = self._next_body()
            if body is not None:
                report: Report = json.loads(body)
                return report
            if self._ended:
                return None
            self._waiter = self._loop.create_future()
            await self._waiter

    def close(self) -> None:
        """Close the stream: a supervisor that still runs something kills all of it."""
        self._end()
        self._sock.close()

    def hang_up(self) -> None:
        """End the stream for both sides; a caller waiting for a report learns that none comes."""
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def _on_readable(self) -> None:
        try:
            chunk = self._sock.recv(_CHUNK)
        except BlockingIOError:
            return
        except OSError:
            chunk = b""
        self._heard += chunk
        if not chunk or len(self._heard) > HEADER.size + LARGEST_FRAME:
            self._end()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _next_body(self) -> bytes | None:
        """Take one whole frame's body out of what was received."""
        if len(self._heard) < HEADER.size:
            return None
        end = HEADER.size + HEADER.unpack_from(self._heard)[0]
        if len(self._heard) < end:
            return None
        body = bytes(self._heard[HEADER.size : end])
        del self._heard[:end]
        return body

    def _end(self) -> None:
        if not self._ended:
            self._ended = True
            self._loop.remove_reader(self._sock)


def receive_link(control: socket.socket, format_size: int) -> tuple[bytes, socket.socket] | None:
    """Take one newborn supervisor's packet and socket; ``None`` at the end of the stream.

    Raises:
        BlockingIOError: none has arrived yet.
    """
    packet, fds = receive(control, format_size, socket.MSG_DONTWAIT)
    if len(packet) != format_size or len(fds) != 1:
        for fd in fds:
            os.close(fd)
        return None
    return packet, socket.socket(fileno=fds[0])

"""Hold the executor's end of its socket: lines, and the descriptors that come with them."""

import _thread
import os
import socket
from collections.abc import Callable

from core.isolation import wire
from core.runner.supervisor import protocol

_CHUNK = 64 * 1024


class Connection:
    """The gateway's calls; the end of the stream means that nobody wants anything any more."""

    __slots__ = ("_attached", "_fds", "_lines", "_next", "_sending", "_sock", "_waiting", "fd")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.fd = sock.fileno()
        self._lines = wire.Lines()
        self._fds: list[int] = []
        self._attached: list[int] = []
        self._sending = _thread.allocate_lock()  # the threads of a model proxy call as well
        self._waiting: dict[int, Callable[[wire.Object], None]] = {}
        self._next = 0

    def receive(self) -> list[bytes] | None:
        """Take the lines that have come; ``None`` at the end of the stream, or of sense."""
        try:
            data, fds = protocol.receive(self._sock, _CHUNK)
            self._fds += fds
            return self._lines.feed(data) if data else None
        except (OSError, wire.LongLine):
            return None

    def send(self, line: bytes) -> None:
        """Send a line; one that nobody takes any more is dropped, for the end comes next."""
        with self._sending:
            attached, self._attached = self._attached, []
            try:
                # A descriptor goes with the first byte; the rest may follow in pieces.
                sent = socket.send_fds(self._sock, [line], attached) if attached else 0
                self._sock.sendall(line[sent:])
            except OSError:
                return
            finally:
                for fd in attached:
                    os.close(fd)

    def attach(self, fd: int) -> None:
        """Send a descriptor with the next line; this process's copy is closed then."""
        self._attached.append(fd)

    def call(self, method: str, params: wire.Object, then: Callable[[wire.Object], None]) -> None:
        """Call a method of the gateway; ``then`` takes the whole answer, in the loop's thread."""
        with self._sending:
            self._next += 1
            number = self._next
            self._waiting[number] = then
        self.send(wire.request(number, method, params))

    def settle(self, message: wire.Object) -> bool:
        """Give an answer to who waits for it; ``False`` if nobody does."""
        number = message.get("id")
        then = self._waiting.pop(number, None) if type(number) is int else None
        if then is None:
            return False
        then(message)
        return True

    def take_descriptor(self) -> int | None:
        """Return the descriptor that came first and was not taken, ``None`` where none came."""
        return self._fds.pop(0) if self._fds else None

    def close(self) -> None:
        """Close this copy: in a forked child it would hide the gateway's end from nobody."""
        self._sock.close()
        for fd in self._fds:
            os.close(fd)

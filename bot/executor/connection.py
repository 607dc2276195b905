"""Handle the executor's end of its socket: lines, and the descriptors that come with them."""

import _thread
import os
import socket
from collections.abc import Callable

from core.isolation import wire
from core.runner.supervisor import protocol

_CHUNK = 64 * 1024


class Connection:
    """The connection on which the gateway calls; its end means that nothing more is wanted."""

    __slots__ = ("_attached", "_fds", "_lines", "_next", "_sending", "_sock", "_waiting", "fd")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.fd = sock.fileno()
        self._lines = wire.Lines()
        self._fds: list[int] = []
        self._attached: list[int] = []
        self._sending = _thread.allocate_lock()  # the threads of a model proxy also call this
        self._waiting: dict[int, Callable[[wire.Object], None]] = {}
        self._next = 0

    def receive(self) -> list[bytes] | None:
        """Return the lines received; ``None`` at the end of the stream, or for invalid input."""
        try:
            data, fds = protocol.receive(self._sock, _CHUNK)
            self._fds += fds
            return self._lines.feed(data) if data else None
        except (OSError, wire.LongLine):
            return None

    def send(self, line: bytes) -> None:
        """Send a line; drop one that is no longer read, because the connection is about to end."""
        with self._sending:
            attached, self._attached = self._attached, []
            try:
                # A descriptor is sent with the first byte; the rest may follow in pieces.
                sent = socket.send_fds(self._sock, [line], attached) if attached else 0
                self._sock.sendall(line[sent:])
            except OSError:
                return
            finally:
                for fd in attached:
                    os.close(fd)

    def attach(self, fd: int) -> None:
        """Send a descriptor with the next line; this process's copy is closed afterwards."""
        self._attached.append(fd)

    def call(self, method: str, params: wire.Object, then: Callable[[wire.Object], None]) -> None:
        """Call a method of the gateway; ``then`` gets the whole answer, in the loop's thread."""
        with self._sending:
            self._next += 1
            number = self._next
            self._waiting[number] = then
        self.send(wire.request(number, method, params))

    def settle(self, message: wire.Object) -> bool:
        """Pass an answer to the call that waits for it; ``False`` if none does."""
        number = message.get("id")
        then = self._waiting.pop(number, None) if type(number) is int else None
        if then is None:
            return False
        then(message)
        return True

    def take_descriptor(self) -> int | None:
        """Return the first descriptor received and not yet taken, ``None`` if there is none."""
        return self._fds.pop(0) if self._fds else None

    def close(self) -> None:
        """Close this copy of the socket, which a forked child must not keep."""
        self._sock.close()
        for fd in self._fds:
            os.close(fd)

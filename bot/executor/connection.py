"""Hold the executor's end of its socket: lines, and the descriptors that come with them."""

import os
import socket

from core.isolation import wire
from core.runner.supervisor import protocol

_CHUNK = 64 * 1024


class Connection:
    """The gateway's calls; the end of the stream means that nobody wants anything any more."""

    __slots__ = ("_fds", "_lines", "_sock", "fd")

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self.fd = sock.fileno()
        self._lines = wire.Lines()
        self._fds: list[int] = []

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
        try:
            self._sock.sendall(line)
        except OSError:
            return

    def take_descriptor(self) -> int | None:
        """Return the descriptor that came first and was not taken, ``None`` where none came."""
        return self._fds.pop(0) if self._fds else None

    def close(self) -> None:
        """Close this copy: in a forked child it would hide the gateway's end from nobody."""
        self._sock.close()
        for fd in self._fds:
            os.close(fd)

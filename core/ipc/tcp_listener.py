"""Accept TCP connections so that strangers do not keep other clients out.

A connection costs a descriptor and, with TLS, a quarter of a mebibyte before its peer has said who
it is, and a server is notified only once TLS is agreed on. So connections are counted where they
are accepted. A peer that has proven nothing yet is a stranger; if there are too many, the oldest of
the network with the most strangers is closed. All of loopback counts as one network.
"""

import contextlib
import errno
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

_log = logging.getLogger(__name__)
MOST_STRANGERS = 48
ACCEPTED_AT_ONCE = 16
"""How many are accepted before something else is served: the backlog that asyncio is given."""
BACKLOG = 128
Whose = Callable[[Any, Any], str]
"""Return the group that a connection counts in, by the peer's address and ours."""
_ONE_NETWORK = 64
"""How many bits of an IPv6 address are its network's: one user commonly has all the rest."""
_LACKING = {errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM}
_NOTED_S = 60.0


class TcpListener(socket.socket):
    """A listening socket, with at most ``most`` strangers among the connections that it accepted.

    ``whose`` returns the group that each counts in, by default the peer's network.
    If no descriptor is left, a connection is closed at once, by giving up a spare one: left in the
    queue, it would wake the server again and again.
    """

    def __init__(
        self, listening: socket.socket, most: int = MOST_STRANGERS, whose: Whose | None = None
    ) -> None:
        """Take over a bound socket."""
        super().__init__(listening.family, listening.type, listening.proto, listening.detach())
        self.most = most
        self.whose = whose or network_of
        self._strangers: dict[_Accepted, str] = {}
        self._spare = _spare()
        self._noted_s = -_NOTED_S

    @classmethod
    def bound(
        cls, host: str, port: int, most: int = MOST_STRANGERS, whose: Whose | None = None
    ) -> "list[TcpListener]":
        """Return a listener for each address that a host has.

        Raises:
            OSError: one of them cannot listen.
        """
        listeners: list[TcpListener] = []
        try:
            for family, _, _, _, address in dict.fromkeys(_addresses(host, port)):
                listeners.append(cls(socket.create_server(address[:2], family=family), most, whose))
        except OSError:
            for one in listeners:
                one.close()
            raise
        return listeners

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection.

        Raises:
            BlockingIOError: none is waiting.
        """
        try:
            raw, address = super().accept()
        except OSError as error:
            if error.errno not in _LACKING:
                raise
            self._turn_away(error)
            raise BlockingIOError(errno.EAGAIN, "no descriptor is left") from error
        taken = _Accepted(raw, self)
        self._strangers[taken] = self.whose(address, taken.getsockname())
        if len(self._strangers) > self.most:
            self._evict()
        return taken, address

    def know(self, transport: Any) -> None:  # noqa: ANN401 - asyncio's, or a library's own
        """No longer count the connection of a transport as a stranger's."""
        raw = transport.get_extra_info("socket")
        fd = -1 if raw is None else raw.fileno()
        for one in [one for one in self._strangers if one.fileno() == fd]:
            self.forget(one)

    def forget(self, accepted: "_Accepted") -> None:
        """Stop counting a connection: it is known, or it has ended."""
        self._strangers.pop(accepted, None)

    def close(self) -> None:
        """Stop listening; what was accepted stays open."""
        super().close()
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1

    def _evict(self) -> None:
        """End the oldest connection of the group that has most."""
        most = Counter(self._strangers.values()).most_common(1)[0][0]
        oldest = next(one for one, whose in self._strangers.items() if whose == most)
        self.forget(oldest)
        with contextlib.suppress(OSError):  # its server sees the end, and closes it
            oldest.shutdown(socket.SHUT_RDWR)

    def _turn_away(self, error: OSError) -> None:
        if self._spare >= 0:
            os.close(self._spare)
            self._spare = -1
        with contextlib.suppress(OSError):
            raw, _ = super().accept()
            raw.close()
        self._spare = _spare()
        now = time.monotonic()
        if now - self._noted_s >= _NOTED_S:
            self._noted_s = now
            where = self.getsockname()[:2]
            _log.warning("connections to %s:%s are turned away: %s", *where, error.strerror)


class _Accepted(socket.socket):
    """A connection that tells its listener when it is closed."""

    def __init__(self, raw: socket.socket, listener: TcpListener) -> None:
        super().__init__(raw.family, raw.type, raw.proto, raw.detach())
        self._listener = listener
        # asyncio does so only for sockets created with TCP's protocol number, and create_server
        # gives none: each frame but the first would wait 40 ms for an acknowledgement.
        with contextlib.suppress(OSError):  # it may have ended already
            self.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def close(self) -> None:
        """Close it."""
        super().close()
        self._listener.forget(self)


def network_of(peer: Any, _own: Any) -> str:  # noqa: ANN401 - an address of any family
    """Return the network of a peer's address; all of loopback is one."""
    address = ip_address(str(peer[0]).partition("%")[0])
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is None:
            return str(ip_network((address, _ONE_NETWORK), strict=False))
        address = address.ipv4_mapped
    return "loopback" if address.is_loopback else str(address)


def _addresses(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)


def _spare() -> int:
    try:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1

"""Bind the port that the API listens on, on every address that a browser of this machine may try.

``localhost`` resolves to 127.0.0.1 or to ::1, depending on the machine and the browser. If the
gateway left its port free on one of them, whoever took it would be sent the links that sign people
in. So what listens on loopback has its port on both.
"""

import errno
import ipaddress
import socket
from typing import Final

from core.errors import StateError
from core.ipc.tcp_listener import BACKLOG
from core.settings.http import HttpSection

_LOCALHOST: Final = ("127.0.0.1", "::1")
_MISSING: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})
"""How bind fails if the machine has no such address, or no IPv6 at all."""
_ANY_IPV6: Final = "::"
"""Every address, including those of IPv4, whatever the machine's default is."""
_MAPPED: Final = "::ffff:"
"""How IPv6 writes an address of IPv4."""


def check_free(section: HttpSection) -> None:
    """Refuse an address on which somebody else listens; nothing listens there meanwhile.

    Raises:
        StateError: a gateway could not listen on one of the addresses.
    """
    try:
        for one in sockets_of(section, listen=False):
            one.close()
    except ElsewhereError as error:
        raise error.explained(section) from error.cause


class ElsewhereError(Exception):
    """The other address that ``localhost`` resolves to cannot listen."""

    def __init__(self, host: str, port: int, cause: OSError) -> None:
        super().__init__(host, port)
        self.host, self.port, self.cause = host, port, cause

    def explained(self, section: HttpSection) -> StateError:
        """Return what happened, to what, and what to do."""
        where = f"[{self.host}]" if ":" in self.host else self.host
        return StateError(
            f"The API cannot listen on {where}:{self.port}: {self.cause.strerror or self.cause}. "
            f"http.listen is {section.listen}, and browsers go to {where} as well when they open "
            f"localhost:{self.port}: whoever listens there would get the links that sign people "
            "in. So the gateway needs the port on both. Set http.listen to another port."
        )


def sockets_of(section: HttpSection, *, listen: bool = True) -> list[socket.socket]:
    """Return bound sockets that listen unless they only try, the one of ``http.listen`` first.

    Raises:
        StateError: that one cannot listen.
        ElsewhereError: another one cannot.
    """
    held = [_first(section, listen=listen)]
    name, port = held[0].getsockname()[:2]
    for host in _besides(name):
        try:
            held.append(_bound(host, port, listen=listen))
        except OSError as error:
            if error.errno in _MISSING:
                continue
            for one in held:
                one.close()
            raise ElsewhereError(host, port, error) from error
    return held


def _first(section: HttpSection, *, listen: bool) -> socket.socket:
    try:
        return _bound(*section.address, listen=listen)
    except OSError as error:
        raise StateError(
            f"The API cannot listen on {section.listen}: {error.strerror or error}. "
            "Set http.listen to a free address of this machine."
        ) from error


def _besides(name: str) -> tuple[str, ...]:
    """Return the addresses of ``localhost`` that a socket bound to ``name`` does not cover."""
    bound = ipaddress.ip_address(name.partition("%")[0])
    bound = getattr(bound, "ipv4_mapped", None) or bound
    if not (bound.is_loopback or bound.is_unspecified) or str(bound) == _ANY_IPV6:
        return ()
    reached = "127.0.0.1" if bound.is_unspecified else str(bound)
    return tuple(host for host in _LOCALHOST if host != reached)


def _bound(host: str, port: int, *, listen: bool) -> socket.socket:
    """Return a socket; one that already listens, so that nobody else gets the port in between.

    One that does not listen keeps nobody else from the port, and is refused all the same where
    somebody listens.

    Raises:
        OSError: it cannot.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            name = str(address[0])
            only = name != _ANY_IPV6 and not name.startswith(_MAPPED)
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(only))
        made.bind(address)
        if listen:
            made.listen(BACKLOG)
    except OSError:
        made.close()
        raise
    return made

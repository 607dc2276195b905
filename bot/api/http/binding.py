"""Listen on the API's port, on every address that a browser of this machine may try."""

import errno
from typing import Any, Final

from bot.api.http.client import client_at
from bot.api.http.errors import Fault
from bot.factories.api_port import ElsewhereError, sockets_of
from core.ipc.tcp_listener import TcpListener
from core.settings.http import HttpSection

_TRIES: Final = 50
"""How many ports are tried if any free one will do."""


def listeners_of(section: HttpSection) -> tuple[TcpListener, ...]:
    """Return the API's listeners: for ``http.listen``, then for other addresses of ``localhost``.

    Raises:
        StateError: one of the addresses cannot listen.
    """
    tries = 1 if section.address[1] else _TRIES
    while True:
        tries -= 1
        try:
            return tuple(TcpListener(one, whose=_whose) for one in sockets_of(section))
        except ElsewhereError as error:
            if not tries or error.cause.errno != errno.EADDRINUSE:
                raise error.explained(section) from error.cause


def _whose(peer: tuple[Any, ...], own: tuple[Any, ...]) -> str:
    """Return the client that a connection counts for during the TLS handshake."""
    try:
        return client_at(peer[:2], own[:2]).key
    except Fault:
        return ""

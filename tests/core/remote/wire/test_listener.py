"""Count strangers by who can have many connections: a user here, a network elsewhere."""

import os
import socket

from core.remote.wire.listener import counted_as

_OURS = ("198.51.100.1", 7443)


def test_who_is_on_this_machine_is_counted_as_its_user() -> None:
    """Whatever loopback address it takes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        own = listening.getsockname()
        for source in ("127.0.0.1", "127.0.0.2"):
            with socket.create_connection(own, source_address=(source, 0)) as connection:
                assert str(os.getuid()) == counted_as(connection.getsockname(), own)


def test_who_is_elsewhere_is_counted_by_its_network() -> None:
    """One that floods must not end the connections of all others."""
    first, second = (counted_as((f"203.0.113.{last}", 40_000), _OURS) for last in (7, 8))
    assert first != second
    near, other, far = (
        counted_as((address, 40_000), ("2001:db8::1", 7443))
        for address in ("2001:db8:7::1", "2001:db8:7::2", "2001:db8:8::1")
    )
    assert near == other != far

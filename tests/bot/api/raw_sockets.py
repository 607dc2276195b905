"""Talk to the API over a bare socket, as no well-behaved client would."""

import socket
import time
from contextlib import closing

from tests.support.api_gateway import ApiGateway


def connect(home: ApiGateway) -> socket.socket:
    """Return a connection."""
    made = socket.create_connection(home.address, timeout=10)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made


def head(home: ApiGateway, who: str, verb: str = "POST", path: str = "/v1/requests") -> bytes:
    """Return a request's line and first headers."""
    host, port = home.address
    return (
        f"{verb} {path} HTTP/1.1\r\nHost: {host}:{port}\r\n"
        f"Authorization: Bearer {home.tokens[who]}\r\nContent-Type: application/json\r\n"
    ).encode()


def read_to_end(connection: socket.socket) -> bytes:
    """Return all that arrives until the other side closes, however it does."""
    found = b""
    try:
        while piece := connection.recv(65_536):
            found += piece
    except ConnectionError:
        pass
    return found


def seconds_until_hung_up(connection: socket.socket) -> float:
    """Return how long the other side keeps a connection open."""
    began = time.monotonic()
    read_to_end(connection)
    return time.monotonic() - began


def exchange(home: ApiGateway, data: bytes) -> bytes:
    """Send bytes and return everything answered until the connection ends."""
    with closing(connect(home)) as connection:
        connection.sendall(data)
        return read_to_end(connection)

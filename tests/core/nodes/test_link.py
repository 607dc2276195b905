"""Connect to a gateway whose answers are hostile."""

import asyncio
from http import HTTPStatus
from pathlib import Path

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.datastructures import Headers
from websockets.http11 import Request, Response

from core.nodes.link import LinkLost, connect
from core.trust.certificate import key_context
from core.trust.identity import key_id, load_key


async def test_a_redirect_is_not_followed(tmp_path: Path) -> None:
    """A gateway could have its nodes knock at any address that they reach."""
    key, knocks = load_key(tmp_path / "key"), 0

    async def knocked(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal knocks
        knocks += 1
        writer.close()

    async def served(_socket: ServerConnection) -> None:
        raise AssertionError

    other = await asyncio.start_server(knocked, "127.0.0.1", 0)
    elsewhere = f"wss://127.0.0.1:{other.sockets[0].getsockname()[1]}/"

    def redirect(_socket: ServerConnection, _request: Request) -> Response:
        headers = Headers([("Location", elsewhere), ("Content-Length", "0")])
        return Response(HTTPStatus.FOUND, "Found", headers, b"")

    async with (
        other,
        serve(served, "127.0.0.1", 0, ssl=key_context(key), process_request=redirect) as gateway,
    ):
        port = next(iter(gateway.sockets)).getsockname()[1]
        with pytest.raises(LinkLost, match="302"):
            await connect("127.0.0.1", port, key_id(key))
    assert knocks == 0

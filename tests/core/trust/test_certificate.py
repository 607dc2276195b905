import asyncio
import ssl
from pathlib import Path
from typing import cast

from core.trust.certificate import client_context, key_context, server_context, shown_key
from core.trust.identity import key_id, load_key


async def _seen(context: ssl.SSLContext) -> str | None:
    """Return the key that a client of this listener sees."""
    server = await asyncio.start_server(lambda _r, w: w.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=client_context())
        connection = cast("ssl.SSLObject", writer.get_extra_info("ssl_object"))
        key = shown_key(connection)
        writer.close()
    return key


async def test_who_pins_a_key_sees_it_whatever_the_certificate(tmp_path: Path) -> None:
    """Two certificates of one key show one id; the key of another file shows another."""
    key, other = load_key(tmp_path / "a.key"), load_key(tmp_path / "b.key")

    assert await _seen(key_context(key)) == key_id(key)
    assert await _seen(key_context(load_key(tmp_path / "a.key"))) == key_id(key)
    assert await _seen(key_context(other)) == key_id(other) != key_id(key)
    assert await _seen(server_context(tmp_path)[0]) not in {key_id(key), key_id(other), None}

"""Serve whole requests, and end those that a client leaves unfinished."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable

import aiohttp
import pytest
from aiohttp import web

from channels import listener
from channels.listener import Listener
from tests.support.ports import free_port
from tests.support.waiting import until

CUT = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{"


def served() -> web.Application:
    """Return an application that answers with what was posted."""

    async def echo(request: web.Request) -> web.Response:
        return web.Response(body=await request.read())

    app = web.Application()
    app.router.add_post("/", echo)
    return app


@pytest.fixture
async def port() -> AsyncIterator[int]:
    """Yield the port of a listener."""
    opened = await Listener.open(served(), "127.0.0.1", 0, 1.0)
    yield opened.port
    await opened.close()


async def hang_up(port: int) -> None:
    """Send the beginning of a request, and close the connection."""
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(CUT)
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.close()
    await writer.wait_closed()


def tracebacks(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the messages that were logged with a traceback."""
    return [one.getMessage() for one in caplog.records if one.exc_info]


def logged(caplog: pytest.LogCaptureFixture, words: str) -> Callable[[], bool]:
    """Return a condition: a message with these words was logged."""
    return lambda: any(words in one.getMessage() for one in caplog.records)


async def test_a_client_that_hangs_up_leaves_no_traceback(
    port: int, caplog: pytest.LogCaptureFixture
) -> None:
    """It is one line of the log, and the next request is answered."""
    caplog.set_level(logging.INFO)
    await hang_up(port)
    await until(logged(caplog, "A request on / ended before its body."))

    assert tracebacks(caplog) == []
    async with (
        aiohttp.ClientSession() as session,
        session.post(f"http://127.0.0.1:{port}/", data=b"x") as answer,
    ):
        assert (200, b"x") == (answer.status, await answer.read())


async def test_a_server_of_the_library_alone_writes_one(caplog: pytest.LogCaptureFixture) -> None:
    """Negative control."""
    runner = web.AppRunner(served(), access_log=None)
    await runner.setup()
    at = free_port()
    await web.TCPSite(runner, "127.0.0.1", at).start()
    await hang_up(at)
    await until(lambda: bool(tracebacks(caplog)))
    await runner.cleanup()

    assert ["Error handling request from 127.0.0.1"] == tracebacks(caplog)


async def test_a_client_that_sends_no_more_is_disconnected(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gets 408; the connection does not stay open."""
    monkeypatch.setattr(listener, "_BODY_PATIENCE_S", 0.2)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(CUT)
    answer = await asyncio.wait_for(reader.read(), 30)
    writer.close()
    await writer.wait_closed()

    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_an_address_that_is_taken_is_refused(port: int) -> None:
    """The caller says which setting to change."""
    with pytest.raises(OSError, match="address already in use"):
        await Listener.open(served(), "127.0.0.1", port, 1.0)

"""Report progress from a handler before it answers; a peer that does not read delays nothing."""

import asyncio
from pathlib import Path

import pytest

from core.ipc.jsonrpc import Limits
from tests.core.ipc.serving import Frame, Methods, Talk, request, server, talk


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the socket."""
    return tmp_path / "gateway.sock"


async def until_answered(one: Talk) -> list[Frame]:
    """Read frames up to the first answer."""
    found = [await one.read()]
    while "id" not in found[-1]:
        found.append(await one.read())
    return found


async def test_notifications_come_in_order_and_before_the_answer(path: Path) -> None:
    """Each is a frame without an id; the answer is the last one."""
    async with server(path, Methods()), talk(path) as one:
        await one.send(request("stream", count=50, size=10))
        *told, answer = await until_answered(one)

    assert [frame["params"]["number"] for frame in told] == list(range(50))  # type: ignore[index]
    assert {(frame["jsonrpc"], frame["method"]) for frame in told} == {("2.0", "tick")}
    assert (answer["id"], answer["result"]) == (1, 50)


async def test_requests_side_by_side_are_told_of_side_by_side(path: Path) -> None:
    """A stream does not keep another request of the same connection waiting."""
    methods = Methods()
    async with server(path, methods), talk(path) as one:
        await one.send(request("slow", 1), request("stream", 2, count=3, size=1))
        *told, answer = await until_answered(one)
        assert (len(told), answer["id"]) == (3, 2)
        methods.release.set()
        assert (await one.read())["id"] == 1


@pytest.mark.parametrize("reads", [False, True])
async def test_who_does_not_read_is_hung_up_on(path: Path, reads: bool) -> None:
    """The handler waits for its reader, so nothing piles up; then its connection is cut.

    Negative control: a reader gets all of it, and stays connected.
    """
    methods = Methods()
    async with server(path, methods, Limits(write_s=1.5)), talk(path) as one:
        if reads:
            await one.send(request("stream", count=400, size=100_000))
            assert len(await until_answered(one)) == 401
            assert "result" in await one.ask(request("echo"))
            return
        reader, writer = await asyncio.open_unix_connection(path, limit=1024)
        silent = Talk(reader, writer)
        await silent.send(request("stream", count=400, size=100_000))
        await asyncio.sleep(0.2)
        assert 0 <= methods.notified < 40  # what the kernel's buffer and ours take, of 40 MB
        assert "result" in await one.ask(request("echo"))
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await asyncio.wait_for(writer_gone(silent), 20)


async def writer_gone(one: Talk) -> None:
    """Write until the connection turns out to be cut."""
    while True:
        await one.send(request("echo"))
        await asyncio.sleep(0.01)

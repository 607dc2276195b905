"""Give long requests room in memory for this many bytes; short ones always pass."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from core.ipc.connection_slots import MOST_WAITING
from core.ipc.errors import Code
from core.ipc.jsonrpc import Limits
from core.ipc.peer import Peer
from core.ipc.room import FREE, Room
from core.ipc.unix import listen
from tests.core.ipc.serving import Methods, Talk, code, request, server, talk

ONE = Peer(1, 1000, 1000, 7, 1)
LONG = b'{"jsonrpc":"2.0","id":1,"method":"echo","params":{"x":"' + b"x" * (16 * FREE)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return the path of the socket."""
    return tmp_path / "gateway.sock"


def test_nobody_takes_all_and_what_is_given_back_is_free() -> None:
    """One process has its share; another user of a shared socket has a share of its own."""
    own, shared = Room(most=100, most_of_one=60), Room(shared=True, most=100, most_of_one=60)
    other = replace(ONE, pid=2, uid=1001, session=2)
    assert own.take(ONE, 60)
    assert not own.take(ONE, 1)
    assert not own.take(other, 41)
    own.give_back(ONE, 60)
    assert own.take(other, 60)
    assert shared.take(ONE, 60)
    assert shared.take(other, 60)
    assert not shared.take(replace(ONE, pid=9, session=9), 1)


def test_who_gave_all_back_is_forgotten() -> None:
    """Every process that ever sent a long request would be remembered otherwise."""
    room = Room(most=100, most_of_one=60)
    assert room.take(ONE, 60)
    room.give_back(ONE, 20)
    assert not room.take(ONE, 21)
    room.give_back(ONE, 40)
    assert not room._held


async def half_a_frame(one: Talk) -> None:
    """Send a long request without its end, and check that it was read."""
    one.writer.write(LONG)
    await one.writer.drain()


@pytest.mark.parametrize("roomy", [True, False])
async def test_half_requests_do_not_add_up(path: Path, *, roomy: bool) -> None:
    """If no room is left, the next long one is refused, and a short one is not."""
    served = await listen(path, Methods().table())
    served.room.most_of_one = (64 if roomy else 18) * FREE
    try:
        async with talk(path) as first, talk(path) as second, talk(path) as short:
            await half_a_frame(first)
            async with asyncio.timeout(20):
                while not served.room._total:
                    await asyncio.sleep(0.01)
            second.writer.write(LONG + b'"}}\n')
            answer = await second.read()
            assert ("result" in answer) == roomy
            assert roomy or code(answer) == Code.BUSY
            assert (await short.ask(request("echo", a=1)))["result"] == {"a": 1}
            first.writer.write(b'"}}\n')
            assert (await first.read())["id"] == 1
    finally:
        await served.close()
    assert served.room._total == 0


async def test_who_is_refused_for_length_keeps_no_place_from_a_newcomer(path: Path) -> None:
    """They are disconnected slowly; one that has to go must not take the newcomer with it."""
    served = await listen(path, Methods().table(), limits=Limits(first_s=60))
    served.room.most_of_one = 0
    floods = [await asyncio.open_unix_connection(path) for _ in range(MOST_WAITING)]
    try:
        for _, writer in floods:
            writer.write(LONG)
        await asyncio.sleep(0.1)
        for _ in range(20):
            async with talk(path) as one:
                assert (await one.ask(request("echo", a=1)))["result"] == {"a": 1}
    finally:
        for _, writer in floods:
            writer.close()
        async with asyncio.timeout(20):
            while served._connections:
                await asyncio.sleep(0.02)
        await served.close()


async def test_a_long_request_is_held_until_its_answer(path: Path) -> None:
    """What waits for its end is in memory as well."""
    methods = Methods()
    async with server(path, methods) as served, talk(path) as one:
        await one.send(LONG.replace(b"echo", b"slow") + b'"}}\n')
        async with asyncio.timeout(20):
            while not served.room._total:
                await asyncio.sleep(0.01)
        methods.release.set()
        await one.read()
        assert served.room._total == 0

"""Test the gateway's end of an executor's socket, against peers that are not executors."""

import asyncio
import contextlib
import gc
import json
import os
import socket
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.isolation import wire
from core.isolation.client import CallFailed, Client, ExecutorGone
from tests.support.waiting import until


@asynccontextmanager
async def talking(
    serve: Callable[[socket.socket], None],
) -> AsyncIterator[tuple[Client, list[tuple[str, wire.Object]], asyncio.Event]]:
    """Yield a client whose peer is a function in a thread; what it received; its end."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.setblocking(False)
    heard: list[tuple[str, wire.Object]] = []
    over = asyncio.Event()
    client = Client(ours, lambda method, params, _number: heard.append((method, params)), over.set)
    peer = asyncio.create_task(asyncio.to_thread(serve, theirs))
    try:
        yield client, heard, over
    finally:
        client.close()
        await peer
        theirs.close()


def answers(*lines: bytes) -> Callable[[socket.socket], None]:
    """Return a peer that answers each call with the next line, then waits for the end."""

    def serve(sock: socket.socket) -> None:
        for line in lines:
            sock.recv(1 << 16)
            sock.sendall(line)
        while sock.recv(1 << 16):
            pass

    return serve


async def test_answers_find_their_calls_in_any_order() -> None:
    """Two calls at once; notifications arrive between; an answer to no call goes nowhere."""

    def serve(sock: socket.socket) -> None:
        calls = b""
        while calls.count(b"\n") < 2:
            calls += sock.recv(1 << 16)
        numbers = [json.loads(line)["id"] for line in calls.splitlines()]
        sock.sendall(
            wire.result(99, {"of": 99})
            + wire.result(numbers[1], {"of": 2})
            + wire.notification("report_message", {"a": 1})
            + wire.result(numbers[0], {"of": 1})
        )
        sock.recv(1)

    async with talking(serve) as (client, heard, _):
        first, second = await asyncio.gather(client.call("a", {}, 5), client.call("b", {}, 5))

    assert (first, second) == ({"of": 1}, {"of": 2})
    assert heard == [("report_message", {"a": 1})]


async def test_a_refusal_is_the_executors_words() -> None:
    """And the connection survives."""
    lines = wire.error(1, -32601, "Unknown method: x"), wire.result(2, {"pong": True})
    async with talking(answers(*lines)) as (client, _, _over):
        with pytest.raises(CallFailed, match="Unknown method: x"):
            await client.call("x", {}, 5)
        assert await client.call("ping", {}, 5) == {"pong": True}


@pytest.mark.parametrize(
    "line",
    [b"nonsense\n", b"[1]\n", b"3\n", b"x" * (wire.LONGEST_LINE + 2), b"[" * 90_000 + b"\n"],
)
async def test_what_no_executor_says_ends_the_connection(line: bytes) -> None:
    """The call fails, and so does every later one; nothing waits."""
    async with talking(answers(line)) as (client, _, over):
        with pytest.raises(ExecutorGone, match="Executor terminated unexpectedly"):
            await client.call("ping", {}, 20)
        with pytest.raises(ExecutorGone):
            await client.call("ping", {}, 20)
        async with asyncio.timeout(5):
            await over.wait()


async def test_a_peer_that_is_silent_is_not_waited_for() -> None:
    """S2 "no hanging requests"."""
    async with talking(answers()) as (client, _, _over):
        with pytest.raises(TimeoutError):
            await client.call("ping", {}, 0.05)


async def test_a_message_of_another_users_process_ends_the_connection() -> None:
    """The kernel says who sent each message; the first one's user is the executor's."""
    assert os.getuid() == 0, "this test sends as another user"

    def serve(sock: socket.socket) -> None:
        sock.recv(1 << 16)
        sock.sendall(wire.result(1, {"pong": True}))
        sock.recv(1 << 16)
        pid = os.fork()
        if pid == 0:
            os.setuid(65534)
            sock.sendall(wire.result(2, {"pong": True}))
            os._exit(0)
        os.waitpid(pid, 0)

    async with talking(serve) as (client, _, _over):
        await client.call("ping", {}, 5)
        assert client.uid == 0
        with pytest.raises(ExecutorGone):
            await client.call("ping", {}, 20)


async def test_descriptors_that_nobody_asked_for_are_closed() -> None:
    """An executor cannot fill the gateway's table."""

    def serve(sock: socket.socket) -> None:
        for number in range(1, 41):
            sock.recv(1 << 16)
            socket.send_fds(sock, [wire.result(number, {})], [0, 1, 2, 0])
        sock.recv(1)

    before = sum(1 for _ in Path("/proc/self/fd").iterdir())
    async with talking(serve) as (client, _, _over):
        for _ in range(40):
            await client.call("ping", {}, 5)
        during = sum(1 for _ in Path("/proc/self/fd").iterdir())

    assert during - before < 20


async def test_one_descriptor_is_taken_where_one_is_expected() -> None:
    """A flood before the answer is closed as it arrives: the first counts, no other is kept."""
    before = sum(1 for _ in Path("/proc/self/fd").iterdir())

    def serve(sock: socket.socket) -> None:
        sock.recv(1 << 16)
        for _ in range(100):
            socket.send_fds(sock, [wire.notification("x", {})], [sock.fileno()] * 4)
        sock.recv(1)

    async with talking(serve) as (client, heard, _over):
        call = asyncio.ensure_future(client.call_for_descriptor("spawn_terminal", {}, 20))
        await until(lambda: len(heard) == 100)
        assert len(client._descriptors) == 1
        assert sum(1 for _ in Path("/proc/self/fd").iterdir()) - before < 20
        client.close()
        with pytest.raises(ExecutorGone):
            await call


async def test_while_it_pauses_nothing_is_heard() -> None:
    """Each pause is added to the one before; what arrived in the meantime is handled afterwards."""
    sent = threading.Event()

    def serve(sock: socket.socket) -> None:
        sent.wait(20)
        sock.sendall(wire.notification("x", {}))
        while sock.recv(1 << 16):
            pass

    loop = asyncio.get_running_loop()
    async with talking(serve) as (client, heard, _over):
        begin = loop.time()
        client.pause(0.2)
        client.pause(0.2)
        sent.set()
        await until(lambda: heard)
        waited = loop.time() - begin

    assert waited >= 0.4
    assert [method for method, _ in heard] == ["x"]


async def test_a_flood_is_read_slowly() -> None:
    """Unrequested data occupies the gateway no more than its rate; a burst is still heard."""
    line = wire.encode({"method": "m"})

    def serve(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sock.sendall(line * 20_000)

    async with talking(serve) as (client, heard, _):
        await until(lambda: len(heard) > 2_000)
        await asyncio.sleep(1)
        read = len(heard)
        client.close()

    assert 2_000 < read < 16_000


async def test_countless_values_end_the_connection_unread() -> None:
    """A line of the maximum length stalled the gateway for 0.2 s, again and again."""
    line = b'{"id":99,"x":[' + b"[]," * 340_000 + b"[]]}\n"

    def serve(sock: socket.socket) -> None:
        with contextlib.suppress(OSError):
            for _ in range(20):
                sock.sendall(line)

    began = time.process_time()
    async with talking(serve) as (_, _, over):
        await asyncio.wait_for(over.wait(), 20)
    assert time.process_time() - began < 0.5


async def test_a_call_that_is_not_sent_when_its_executor_ends_leaves_no_error() -> None:
    """Its caller is told; asyncio logged a traceback besides, or the call waited for its time."""
    left = list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: left.append(what))

    def serve(sock: socket.socket) -> None:
        sock.recv(1 << 16)
        time.sleep(0.1)  # the rest of the call does not fit into the socket
        sock.shutdown(socket.SHUT_RDWR)

    async with talking(serve) as (client, _, over):
        with pytest.raises(ExecutorGone):
            await client.call("run", {"long": "x" * (4 << 20)}, 20)
        await over.wait()
    await asyncio.sleep(0)
    gc.collect()
    assert left == []


@pytest.mark.parametrize("answer", [False, True])
async def test_what_is_being_sent_ends_with_the_connection(*, answer: bool) -> None:
    """A peer that reads nothing: the socket's number was broken for whatever got it next."""
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    ours.setblocking(False)
    client = Client(ours, lambda *_: None, lambda: None)
    number, loop = ours.fileno(), asyncio.get_running_loop()
    line = b"x" * (4 << 20)
    long = client.reply(line) if answer else client.call("run", {"long": line.decode()}, 600)
    sending = asyncio.ensure_future(long)
    await asyncio.sleep(0.1)
    assert not sending.done()
    client.close()
    with socket.socket(socket.AF_UNIX) as again:
        assert again.fileno() == number
        loop.add_reader(again, lambda: None)
        assert loop.remove_reader(again)
    async with asyncio.timeout(5):
        (ended,) = await asyncio.gather(sending, return_exceptions=True)
    assert ended is None if answer else isinstance(ended, ExecutorGone)
    assert client._sending == set()
    theirs.close()

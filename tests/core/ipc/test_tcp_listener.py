"""Let strangers that connect and say nothing lock no one out."""

import asyncio
import contextlib
import errno
import resource
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from core.ipc.tcp_listener import ACCEPTED_AT_ONCE, BACKLOG, TcpListener
from core.trust.certificate import server_context
from tests.support.waiting import until

FEW, MANY = 16, 300


@asynccontextmanager
async def answering(
    listener: TcpListener, context: ssl.SSLContext | None = None
) -> AsyncIterator[set[str]]:
    """Serve a listener; callers of `hello` are known and answered. Yields the open addresses."""
    served: set[str] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        name = str(writer.get_extra_info("peername"))
        served.add(name)
        with contextlib.suppress(OSError):
            if await reader.readline() == b"hello\n":
                listener.know(writer.transport)
                writer.write(b"welcome\n")
                await reader.read()
        served.discard(name)
        writer.close()

    server = await asyncio.start_server(serve, sock=listener, ssl=context, backlog=ACCEPTED_AT_ONCE)
    listener.listen(BACKLOG)
    before = open_descriptors()
    async with server:
        yield served
    await until(lambda: open_descriptors() < before)  # all that was accepted is closed


async def hello(port: int, context: ssl.SSLContext | None = None) -> asyncio.StreamWriter:
    """Connect and be welcomed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    writer.write(b"hello\n")
    async with asyncio.timeout(10):
        assert await reader.readline() == b"welcome\n"
    return writer


@asynccontextmanager
async def strangers(
    port: int, number: int = MANY, source: str = "127.0.0.1"
) -> AsyncIterator[None]:
    """Hold this many connections that say nothing."""
    with contextlib.ExitStack() as stack:
        for _ in range(number):
            one = stack.enter_context(socket.socket())
            one.bind((source, 0))
            one.setblocking(False)
            assert one.connect_ex(("127.0.0.1", port)) in {0, errno.EINPROGRESS}
            await asyncio.sleep(0)  # what does not fit in the queue would come seconds later
        yield


def open_descriptors() -> int:
    """Return the number of this process's descriptors."""
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.parametrize("most", [FEW, 10 * MANY], ids=["bounded", "control"])
async def test_strangers_hold_few_descriptors(most: int, tmp_path: Path) -> None:
    """Although TLS is not negotiated, so that no server has heard of them."""
    context, _ = server_context(tmp_path)
    (listener,) = TcpListener.bound("127.0.0.1", 0, most)
    port = listener.getsockname()[1]
    async with answering(listener, context):
        before = open_descriptors()
        async with strangers(port):
            trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            last = await hello(port, trusting)  # its turn comes after theirs
            held = open_descriptors() - before - MANY - 2
            last.close()

    few = held <= FEW + ACCEPTED_AT_ONCE
    assert few is (most == FEW), held


async def test_who_is_known_stays() -> None:
    """Later arrivals; a stranger from elsewhere is not the first to go, either."""
    (listener,) = TcpListener.bound("127.0.0.1", 0, 8, lambda peer, _own: str(peer[0]))
    port = listener.getsockname()[1]
    async with answering(listener) as served:
        known = await hello(port)
        async with strangers(port, 1, "127.0.0.2"):
            await until(lambda: any("127.0.0.2" in one for one in served))
            async with strangers(port):
                await until(lambda: len(served) == 9)
                await asyncio.sleep(0.2)
                other = any("127.0.0.2" in one for one in served)
        alive = not known.transport.is_closing()
        known.close()

    assert (alive, other) == (True, True)


def test_one_network_is_counted_together() -> None:
    """A user of this machine has all of loopback, and one with IPv6 a network of its own."""
    (listener,) = TcpListener.bound("127.0.0.1", 0)
    with listener:
        together = [
            ("127.0.0.1", "127.9.9.9", "::ffff:127.0.0.2"),
            ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9"),
            ("10.0.0.7", "::ffff:10.0.0.7"),
            ("fe80::1%eth0", "fe80::2%eth0"),
        ]
        counted = [{listener.whose((one, 1), None) for one in group} for group in together]
        apart = {listener.whose((one, 1), None) for one in ("10.0.0.8", "2001:db8:1:3::1")}

    assert [len(one) for one in counted] == [1, 1, 1, 1]
    assert len(apart.union(*counted)) == 6


async def test_without_descriptors_connections_are_turned_away(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """They do not wait in the queue, where they would wake the server forever; it says so once."""
    (listener,) = TcpListener.bound("127.0.0.1", 0, 1000)
    port = listener.getsockname()[1]
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    async with answering(listener):
        clients = [socket.socket() for _ in range(40)]
        resource.setrlimit(resource.RLIMIT_NOFILE, (open_descriptors() + 5, before[1]))
        try:
            for one in clients:
                one.setblocking(False)
                one.connect_ex(("127.0.0.1", port))
            await until(lambda: sum(map(_is_over, clients)) > len(clients) // 2)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
            for one in clients:
                one.close()
        (await hello(port)).close()

    assert [one.message.partition(" to ")[0] for one in caplog.records] == ["connections"]


def _is_over(client: socket.socket) -> bool:
    try:
        return client.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


async def test_what_is_accepted_sends_small_frames_at_once() -> None:
    """Otherwise each frame after the first waits for the peer's delayed acknowledgement, 40 ms."""
    (listener,) = TcpListener.bound("127.0.0.1", 0)
    with listener, socket.create_connection(listener.getsockname()[:2]):
        taken, _ = listener.accept()
        with taken:
            assert taken.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

"""Test the carrier: sizes, silence, floods and peers that do not read."""

import asyncio
import os
import random
import socket
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, AsyncExitStack, contextmanager
from pathlib import Path

import pytest

from core.errors import StateError
from core.ipc.tcp_listener import MOST_STRANGERS
from core.remote.denials import RemoteDenial
from core.remote.host.counters import Strangers
from core.remote.trust.envelope import Sealed
from core.remote.wire.frames import (
    HEADER,
    LARGEST,
    PREFIX,
    Accepted,
    BadFrame,
    End,
    Piece,
    body_length,
    decode,
    encode,
)
from core.remote.wire.link import LinkLost, StreamLink
from core.remote.wire.listener import Listener
from core.trust.certificate import client_context, server_context
from tests.support.executors import UID
from tests.support.other_users import doing
from tests.support.remote_machines import Machines, two_machines
from tests.support.waiting import until

D = RemoteDenial


async def told(host: Machines, data: bytes) -> End:
    """Send raw bytes on a new connection; return what the host answers."""
    link = await host.link()
    try:
        link.writer.write(data)
        answer = await link.receive(10)
    finally:
        await link.close()
    assert isinstance(answer, End)
    return answer


@pytest.mark.parametrize(
    "data",
    [
        HEADER.pack(LARGEST + 1) + b"x",
        HEADER.pack(0xFFFFFFFF),
        HEADER.pack(0),
        HEADER.pack(5) + b"hello",
        HEADER.pack(len(PREFIX) + 1) + PREFIX + b"{",
        HEADER.pack(len(PREFIX) + 2) + PREFIX + b"{}",
        HEADER.pack(len(PREFIX) + 2) + PREFIX + b"\xff\xff",
        HEADER.pack(len(PREFIX) + 100_000) + PREFIX + b"[" * 100_000,
        encode(End()),
        encode(Accepted(lease_ms=1, longest_ms=1)),
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=[
        *("too large", "4 GiB", "empty", "unprefixed", "half", "untyped", "binary", "nested"),
        *("an end", "an accepted", "HTTP"),
    ],
)
async def test_what_is_no_request_is_denied_and_the_host_lives(tmp_path: Path, data: bytes) -> None:
    """Nothing is read beyond the fault, no exception is logged, the next request is served."""
    async with two_machines(tmp_path) as host:
        assert (await told(host, data)).denial_reason is D.BAD_REQUEST
        assert (await host.run("echo", "hello")).code == 0


_QUICK_S = 0.5


def _many(begin: bytes, each: bytes, end: bytes) -> bytes:
    """Return a frame of the maximum length, of one thing over and over."""
    room = LARGEST - len(PREFIX) - len(begin) - len(end)
    body = PREFIX + begin + each * (room // len(each)) + end
    return HEADER.pack(len(body)) + body


def _in_payload(payload: str) -> bytes:
    """Return an envelope around an unsigned payload."""
    return encode(Sealed(payload=payload, signature="0" * 128, binding="0" * 128))


@pytest.mark.parametrize(
    "data",
    [
        _many(b'{"t":"end","warnings":[', b"1,", b"1]}"),
        _many(b'{"t":"envelope","payload":[', b"{},", b"{}]}"),
        _many(b'{"t":"envelope","payload":[', b"[[]],", b"[]]}"),
        _in_payload('{"v":1,"run":{"argv":[' + "1," * 400_000 + "1]}}"),
        _in_payload('{"v":1,"run":[' + "{}," * 300_000 + "{}]}"),
    ],
    ids=["warnings", "objects", "lists", "words of a payload", "objects of a payload"],
)
async def test_a_stranger_occupies_nobody_by_countless_values(tmp_path: Path, data: bytes) -> None:
    """Before it has proven anything: one frame stalled the host for 6 s."""
    async with two_machines(tmp_path) as host:
        began = time.process_time()
        assert (await told(host, data)).denial_reason is D.BAD_REQUEST
        assert time.process_time() - began < _QUICK_S
        assert (await host.run("echo", "hello")).code == 0


async def test_as_many_words_as_a_request_may_have_are_read(tmp_path: Path) -> None:
    """With commas and quotes in each: what is inside a word is not a value."""
    async with two_machines(tmp_path) as host:
        words = ('"a,b",{[' * 16,) * 255
        assert (await host.run("echo", *words)).denial_reason is not D.BAD_REQUEST


async def test_random_bytes_are_survived(tmp_path: Path) -> None:
    """Two hundred seeded bodies after a correct length and prefix; each is denied in words."""
    dice = random.Random(5)
    async with two_machines(tmp_path) as host:
        host.service.strangers = Strangers(burst=1000, _left=1000)
        refusals = {D.BAD_REQUEST, D.SIGNATURE_INVALID, D.MACHINE_BINDING_UNVERIFIED}
        good = encode(host.sealed("echo", "hello"))[HEADER.size :]
        for _ in range(200):
            body = bytearray(good)
            for _ in range(dice.randint(1, 8)):
                body[dice.randrange(len(PREFIX), len(body))] = dice.randrange(256)
            if body == good:
                continue
            answer = await told(host, HEADER.pack(len(body)) + bytes(body))
            assert answer.denial_reason in refusals, body
        assert (await host.run("echo", "hello")).code == 0


async def test_a_silent_peer_is_hung_up_on(tmp_path: Path) -> None:
    """Neither silence nor half a frame holds a connection for longer than the patience."""
    async with two_machines(tmp_path, first_frame_s=0.2) as host:
        half = encode(host.sealed("echo", "hello"))[:-10]
        for data in (b"", half):
            link = await host.link()
            link.writer.write(data)
            began = time.monotonic()
            assert await link.reader.read() == b""
            assert time.monotonic() - began < 3
            await link.close()


async def test_connections_are_bounded_and_room_comes_back(tmp_path: Path) -> None:
    """The third of two runs gets no answer; once one has gone, the next is served."""
    async with two_machines(tmp_path, most_connections=2) as host:
        first, second = await host.link(), await host.link()
        for one in (first, second):
            await one.send(host.sealed("sleep", "30"))
            assert isinstance(await one.receive(10), Accepted)
        third = await host.link()
        with pytest.raises(LinkLost):
            await third.receive(10)
        await third.close()
        await first.close()
        await until(lambda: len(host.listener._tasks) == 1)
        assert (await host.run("echo", "hello")).code == 0
        await second.close()


_SILENT = """
import socket, ssl, sys
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
held = []
for _ in range(int(sys.argv[2])):
    made = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    held.append(context.wrap_socket(made) if sys.argv[3] == "agreed" else made)
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def _silent(host: Machines, number: int, how: str) -> Iterator[None]:
    """Have another user hold connections that ask for nothing; ``how``: TLS negotiated or not."""
    port = host.listener.addresses[0].port
    with doing(UID, _SILENT, port, number, how) as said:
        assert said == "held\n"
        yield


async def _entered(stack: AsyncExitStack, block: AbstractContextManager[None]) -> None:
    """Enter a block in a thread: the host serves in the meantime."""
    await asyncio.to_thread(block.__enter__)
    stack.push(block.__exit__)


async def test_who_asks_for_nothing_keeps_nobody_out(tmp_path: Path) -> None:
    """Although TLS is negotiated: that proves nothing about anyone."""
    async with two_machines(tmp_path) as host, AsyncExitStack() as stack:
        await _entered(stack, _silent(host, 64, "agreed"))
        assert (await host.run("echo", "hello")).code == 0


async def test_another_users_connections_end_none_of_ours(tmp_path: Path) -> None:
    """All users of the machine have one address; the one with the most connections loses one."""
    async with two_machines(tmp_path) as host, AsyncExitStack() as stack:
        port = host.listener.addresses[0].port
        assert port is not None
        ours = socket.create_connection(("127.0.0.1", port))
        await _entered(stack, _silent(host, 3 * MOST_STRANGERS, "begun"))
        reader, writer = await asyncio.open_connection(
            sock=ours, ssl=client_context(), server_hostname=""
        )
        link = StreamLink(reader, writer, "the host")
        await link.send(host.sealed("echo", "hello"))
        assert isinstance(await link.receive(10), Accepted)
        await link.close()


async def test_a_peer_that_does_not_read_is_hung_up_on_and_its_run_ended(tmp_path: Path) -> None:
    """Its output fills the socket; the host gives up on it, not on the others."""
    flood = ("head", "-c", "50000000", "/dev/zero")
    async with two_machines(
        tmp_path, vectors=[flood, ("echo", "hello")], write_s=0.3, max_stdout_bytes=50_000_000
    ) as host:
        link = await host.link()
        assert isinstance(link.writer.transport, asyncio.ReadTransport)
        link.writer.transport.pause_reading()
        await link.send(host.sealed(*flood))
        await until(lambda: "finished" in host.kinds() and not len(host.service.context.sessions))
        assert len(host.service.context.sessions) == 0
        assert (await host.run("echo", "hello")).code == 0
        await link.close()


async def test_strangers_beyond_a_burst_hear_and_write_nothing(tmp_path: Path) -> None:
    """Else any client of the port fills the log; a known one is served throughout."""
    async with two_machines(tmp_path) as host:
        host.service.strangers = Strangers(burst=3, a_second=0.001, _left=3)
        junk = HEADER.pack(5) + b"hello"
        for _ in range(3):
            await told(host, junk)
        with pytest.raises(LinkLost):
            await told(host, junk)

        assert (await host.run("echo", "hello")).code == 0
        assert host.service.counters.unheard == 1
    assert host.kinds().count("denied") == 3


def test_strangers_are_heard_again_after_a_while() -> None:
    """The allowance is refilled on its own, up to the burst."""
    strangers = Strangers(burst=2, a_second=0.1, _left=2)
    assert [strangers.answered() for _ in range(3)] == [True, True, False]
    strangers._at -= 10

    assert [strangers.answered() for _ in range(2)] == [True, False]


def test_a_frame_is_bounded_when_written_as_well() -> None:
    """What would be refused there is not sent from here."""
    with pytest.raises(BadFrame):
        encode(Piece(stream="stdout", data="x" * LARGEST))  # type: ignore[arg-type]
    with pytest.raises(BadFrame):
        body_length(HEADER.pack(LARGEST + 1))
    assert decode(encode(End())[HEADER.size :]) == End()


async def test_the_memory_for_a_frame_grows_only_as_it_arrives() -> None:
    """A header alone, however large a frame it announces, takes no memory."""
    reader = asyncio.StreamReader(limit=LARGEST)
    reader.feed_data(HEADER.pack(LARGEST))
    link = StreamLink(reader, None, "test")  # type: ignore[arg-type]  # it only reads
    with pytest.raises(LinkLost, match="nothing received"):
        await link.receive(0.05)
    assert len(reader._buffer) == 0  # type: ignore[attr-defined]


async def test_a_socket_on_which_somebody_answers_is_left_alone(tmp_path: Path) -> None:
    """Two hosts do not share one; a dead one's leftover is replaced."""
    async with two_machines(tmp_path / "a", unix=True) as host:
        taken, other = host.contact.place, Listener(host.service.serve)
        with pytest.raises(StateError, match="Address already in use"):
            await other.open(taken, server_context(tmp_path / "a" / "host")[0])
        assert (await host.run("echo", "hello")).code == 0

    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(taken.path)
    await other.open(taken, server_context(tmp_path / "a" / "host")[0])
    await other.close()


async def test_another_users_process_is_not_served_on_the_unix_socket(tmp_path: Path) -> None:
    """The kernel says who connects; the mode already keeps others out."""
    async with two_machines(tmp_path, unix=True) as host:
        path = host.contact.place.path
        assert os.stat(path).st_mode & 0o077 == 0  # noqa: PTH116 - a string


@pytest.mark.parametrize("longest_ms", [86_430_001, 10**400], ids=["more", "no number"])
def test_a_host_cannot_have_a_client_wait_for_ever(longest_ms: int) -> None:
    """No run lasts longer than a day, and no time is a number that no clock can hold."""
    most = b'{"t":"accepted","lease_ms":1,"longest_ms":86430000}'

    assert decode(PREFIX + most) == Accepted(lease_ms=1, longest_ms=86_430_000)
    with pytest.raises(BadFrame):
        decode(PREFIX + most.replace(b"86430000", b"%d" % longest_ms))

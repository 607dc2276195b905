"""Turn a host's frames into a client's result: separate output, an end, or a lost connection."""

import asyncio
import socket
from collections.abc import Sequence

import pytest

from core.model.result import StreamName
from core.remote.client.call import Call
from core.remote.denials import Notice, RemoteDenial
from core.remote.result import RemoteResult
from core.remote.trust.envelope import Order, Sealed, Sealer
from core.remote.wire.frames import Accepted, AnyFrame, End, Piece, Renewed
from core.remote.wire.link import StreamLink
from core.trust.identity import Identity

ACCEPTED = Accepted(lease_ms=60_000, longest_ms=60_000)
OUT, ERR = StreamName.STDOUT, StreamName.STDERR


async def link(end: socket.socket) -> StreamLink:
    """Return the link over one end of a pair of sockets."""
    return StreamLink(*await asyncio.open_connection(sock=end), peer="a pair")


async def told(*frames: AnyFrame) -> tuple[RemoteResult, AnyFrame]:
    """Answer a call with frames, and disconnect; return its result and what it began with."""
    ours, theirs = map(link, socket.socketpair())
    client, host = await ours, await theirs
    identity = Identity.new()
    call = Call("a" * 64, Order(argv=("x",)), Sealer(identity, Identity.new().machine_id))
    following = asyncio.ensure_future(call.follow(client))
    first = await host.receive(10)
    for frame in frames:
        await host.send(frame)
    await host.close()
    result = await following
    await client.close()
    return result, first


async def test_output_is_kept_apart_until_the_end() -> None:
    """In order of arrival on each stream; the end says the rest."""
    frames = (
        ACCEPTED,
        Piece.of(OUT, b"one "),
        Piece.of(ERR, b"wrong"),
        Renewed(),
        Piece.of(OUT, b"two"),
        End(code=3, stdout_bytes_total=70, stderr_bytes_total=5, truncated=True),
    )

    result, first = await told(*frames)

    assert isinstance(first, Sealed)
    assert (result.code, result.stdout, result.stderr) == (3, b"one two", b"wrong")
    assert (result.stdout_bytes_total, result.stderr_bytes_total, result.truncated) == (70, 5, True)


async def test_a_denial_is_the_end() -> None:
    """Before anything was accepted, and after."""
    denial = End(denial_reason=RemoteDenial.UNTRUSTED)
    for frames in ((denial,), (ACCEPTED, denial)):
        result, _ = await told(*frames)
        assert (result.denial_reason, result.warnings) == (RemoteDenial.UNTRUSTED, ())


@pytest.mark.parametrize(
    ("frames", "kept"),
    [
        ((), b""),
        ((Renewed(),), b""),
        ((ACCEPTED,), b""),
        ((ACCEPTED, Piece.of(OUT, b"so far")), b"so far"),
        ((ACCEPTED, Piece.of(OUT, b"so far"), Piece(stream=OUT, data="?")), b"so far"),
    ],
)
async def test_without_an_end_the_connection_is_lost(
    frames: Sequence[AnyFrame], kept: bytes
) -> None:
    """What arrived until then is kept; the command may have run."""
    result, _ = await told(*frames)

    assert result.warnings == (Notice.CONNECTION_LOST,)
    assert (result.code, result.stdout, result.stdout_bytes_total) == (None, kept, len(kept))

"""Join a gateway that says more to the node's user than a gateway does."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from websockets.asyncio.server import ServerConnection, serve

from core.nodes.frames import AnyFrame, Auth, Hello, Refused, Waiting, Welcome, decode, encode
from core.nodes.link import PATH
from core.trust.certificate import key_context
from core.trust.identity import key_id, load_key
from core.trust.ids import new_id
from tests.support.node_links import RunningMember, member_of
from tests.support.waiting import until

EVIL = "\x1b]52;c;eA==\x07\u202egood\u200b"


@asynccontextmanager
async def _hostile(
    tmp_path: Path, *frames: AnyFrame | str, hangs_up: bool = False
) -> AsyncIterator[tuple[RunningMember, list[None]]]:
    """Run a node at a gateway that says this; the list grows with each connection that ended."""
    key, ended = load_key(tmp_path / "key"), list[None]()

    async def served(socket: ServerConnection) -> None:
        assert socket.request is not None
        assert socket.request.path == PATH
        await socket.send(encode(Hello(nonce=new_id(), gateway=key_id(key), now_ms=1)))
        assert isinstance(decode(await socket.recv()), Auth)
        for frame in frames:
            await socket.send(frame if isinstance(frame, str) else encode(frame))
        await (socket.close() if hangs_up else socket.wait_closed())
        ended.append(None)

    async with serve(served, "127.0.0.1", 0, ssl=key_context(key)) as gateway:
        port = next(iter(gateway.sockets)).getsockname()[1]
        async with member_of(tmp_path / "node", port, key_id(key)) as node:
            yield node, ended


async def _said(tmp_path: Path, *frames: AnyFrame | str) -> list[str]:
    """Return what a node tells its user about a gateway that says this."""
    async with _hostile(tmp_path, *frames) as (node, ended):
        await until(lambda: bool(ended))
        return list(node.said)


async def test_nothing_that_a_gateway_says_moves_the_cursor(tmp_path: Path) -> None:
    """Its words reach a terminal and a log: what does not print is an escape."""
    said = await _said(tmp_path, Welcome(name=f"web{EVIL[1:4]}\u202e"), Refused(why=EVIL + "\nx"))
    assert len(said) >= 2
    for words in said:
        assert words.isprintable(), words
    assert "good" in said[1]


async def test_a_code_is_one_that_people_can_type(tmp_path: Path) -> None:
    """The node's user is told to type it on the gateway; the control is told."""
    for evil in ("x;curl a.sh|sh", "\x1b[2J", ""):
        frame = encode(Waiting(code="K3F7QZ", expires_ms=1)).replace("K3F7QZ", evil)
        assert await _said(tmp_path, frame) == []
    honest = await _said(tmp_path, Waiting(code="K3F7QZ", expires_ms=1), Refused(why="no"))
    assert "approve K3F7QZ" in honest[0]


async def test_a_gateway_fills_no_log_with_codes(tmp_path: Path) -> None:
    """One connection shows twenty of them, and ends."""
    said = await _said(tmp_path, *[Waiting(code="K3F7QZ", expires_ms=1)] * 1_000)
    assert len(said) == 20


async def test_a_gateway_that_hangs_up_is_dialled_less_often(tmp_path: Path) -> None:
    """A welcome alone starts no pause over, at half a second; here they begin with 20 ms."""
    async with _hostile(tmp_path, Welcome(name="web"), hangs_up=True) as (node, ended):
        await until(lambda: len(ended) >= 4)
        assert node.member.backoff.next_s in {0.02 * 2**3, 0.02 * 2**4}

"""Connect a node and a gateway over real TLS on loopback: who is let in, and who returns."""

import asyncio
import contextlib
import json
import ssl
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
from websockets.asyncio.client import connect as plain_connect
from websockets.exceptions import ConnectionClosed

from core.nodes import fleet as fleet_module
from core.nodes.frames import Auth, Hello, Refused, decode, encode, proof
from core.nodes.link import NodeLink
from core.nodes.node_file import begin, node_key
from core.store import Store, open_store
from core.store.people import nodes
from core.trust.certificate import client_context
from core.trust.identity import SigningKey, key_id, load_key
from tests.support.node_links import NodeGateway, RunningMember, member_of, node_gateway
from tests.support.ports import free_port


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield a store in a file."""
    opened = await open_store(f"sqlite:///{tmp_path}/state.db")
    yield opened
    await opened.close()


async def until(what: Callable[[], object], seconds: float = 10.0) -> None:
    """Wait until a condition holds."""
    ends = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < ends, "it did not come about"
        await asyncio.sleep(0.01)


async def test_a_node_waits_is_allowed_and_connected(tmp_path: Path, store: Store) -> None:
    """Nothing is let in before a person allowed it; then the same connection continues."""
    async with node_gateway(tmp_path / "g", store) as gateway:
        async with member_of(tmp_path / "n", gateway.port, gateway.fleet.key) as node:
            await until(lambda: node.said)
            (asked,) = await store.read(nodes.requests)
            assert asked.code in node.said[0]
            assert (asked.name, asked.address) == ("web", "127.0.0.1")
            assert not gateway.fleet.connected
            await store.write(nodes.approve, asked.code, "uid:0")
            await until(lambda: gateway.fleet.connected)

        assert gateway.fleet.key == node.member.file.gateway_key
        await until(lambda: not gateway.fleet.connected)
        assert gateway.heard.leaves == 1


@pytest.mark.parametrize("denied", [True, False], ids=["denied", "expired: the control"])
async def test_a_denied_key_puts_no_second_question(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch, *, denied: bool
) -> None:
    """It keeps dialling and is refused quietly; an unanswered one may ask again."""
    if not denied:  # as if what follows came in the last moments of the request
        monkeypatch.setattr(fleet_module, "_EXPIRES_MS", nodes.REQUEST_LIFE_MS)
    async with (
        node_gateway(tmp_path / "g", store) as gateway,
        member_of(tmp_path / "n", gateway.port, gateway.fleet.key) as node,
    ):
        await until(lambda: node.said)
        (asked,) = await store.read(nodes.requests)
        await store.write(nodes.deny, asked.code)
        answered = "A person denied this node" if denied else "must allow this node"
        await until(lambda: any(answered in said for said in node.said[1:]))
        waiting = await store.read(nodes.requests)

    assert len(waiting) == (0 if denied else 1)


async def test_a_wrong_key_hears_nothing(tmp_path: Path, store: Store) -> None:
    """A peer that answers with another key gets no byte; the control pins the right one."""
    wrong = key_id(load_key(tmp_path / "other.key"))
    async with node_gateway(tmp_path / "g", store) as gateway:
        async with member_of(tmp_path / "a", gateway.port, wrong) as node:
            await until(lambda: len(node.said) > 2)
            assert all("does not hold the gateway's key" in words for words in node.said)
            assert await store.read(nodes.requests) == ()
        async with member_of(tmp_path / "a", gateway.port, gateway.fleet.key) as node:
            await until(lambda: node.said)
            assert "sayso node approve" in node.said[0]
            assert len(await store.read(nodes.requests)) == 1


async def test_a_node_comes_back_after_the_gateway_was_away(tmp_path: Path, store: Store) -> None:
    """It reconnects on its own, and no one is asked a second time."""
    port = free_port()
    async with node_gateway(tmp_path / "g", store, port) as gateway:
        first = asyncio.create_task(gateway.approved())
        context = member_of(tmp_path / "n", port, gateway.fleet.key)
        node = await context.__aenter__()
        await until(lambda: gateway.fleet.connected)
        await first
    await until(lambda: node.heard.leaves == 1)
    await asyncio.sleep(0.2)
    async with node_gateway(tmp_path / "g", store, port) as again:
        await until(lambda: again.fleet.connected)
        assert await store.read(nodes.requests) == ()
    await context.__aexit__(None, None, None)


async def test_a_revoked_node_is_cut_off_at_once(tmp_path: Path, store: Store) -> None:
    """Within a second of the change, and it may only ask to be paired again."""
    async with (
        node_gateway(tmp_path / "g", store) as gateway,
        member_of(tmp_path / "n", gateway.port, gateway.fleet.key) as node,
    ):
        for _ in range(3):  # a frozen machine is late once, a slow gateway every time
            await gateway.approved()
            await until(lambda: gateway.fleet.connected)
            (paired,) = await store.read(nodes.listed)
            began = time.monotonic()
            await store.write(nodes.revoke, paired.id)
            await until(lambda: not gateway.fleet.connected)
            took = time.monotonic() - began
            await until(lambda: any("revoked" in words for words in node.said))
            await until(lambda: "sayso node approve" in node.said[-1])
            assert not gateway.fleet.connected
            if took < 1.0:
                break
        assert took < 1.0


async def test_a_newer_connection_replaces_the_older(tmp_path: Path, store: Store) -> None:
    """A half-open connection keeps no node away."""
    async with (
        node_gateway(tmp_path / "g", store) as gateway,
        member_of(tmp_path / "n", gateway.port, gateway.fleet.key) as node,
    ):
        await gateway.approved()
        await until(lambda: gateway.fleet.connected)
        first = gateway.fleet.connection(node.member.file.node_id)
        async with member_of(tmp_path / "n", gateway.port, gateway.fleet.key) as twin:
            await until(lambda: twin.heard.joins)
            newest = gateway.fleet.connection(node.member.file.node_id)
            assert first is not newest
            await until(lambda: node.heard.leaves >= 1)


class _Client:
    """A hostile client that sends frames by hand."""

    def __init__(self, gateway: NodeGateway, home: Path) -> None:
        home.mkdir(exist_ok=True)
        self.file = begin(home, "web", f"127.0.0.1:{gateway.port}", gateway.fleet.key)
        self.key: SigningKey = node_key(home)
        self.url = f"wss://127.0.0.1:{gateway.port}/v1/node"
        self.context: ssl.SSLContext = client_context()

    async def says(
        self,
        nonce: str | None = None,
        key: SigningKey | None = None,
        gateway: str | None = None,
        node_id: str | None = None,
        session: str = "5" * 32,
        signed_session: str | None = None,
    ) -> str:
        """Say auth with one thing wrong; return the kind of the answering frame."""
        async with plain_connect(self.url, ssl=self.context, proxy=None) as socket:
            hello = decode(await socket.recv())
            assert isinstance(hello, Hello)
            signed = proof(
                nonce or hello.nonce, gateway or hello.gateway, signed_session or session
            )
            auth = Auth(
                node_id=node_id or self.file.node_id,
                name="web",
                token=self.file.pairing_token,
                session=session,
                signature=(key or self.key).sign(signed).hex(),
            )
            await socket.send(encode(auth))
            answer = decode(await asyncio.wait_for(socket.recv(), 5))
            if isinstance(answer, Refused):
                with pytest.raises(ConnectionClosed):
                    await socket.recv()
            return answer.t


async def test_only_the_holder_of_the_key_is_heard(tmp_path: Path, store: Store) -> None:
    """A signature of another key, nonce, gateway or session is refused; the control is right."""
    async with node_gateway(tmp_path / "g", store) as gateway:
        client, other = _Client(gateway, tmp_path / "n"), load_key(tmp_path / "o.key")
        wrong = (
            {"key": other},
            {"nonce": "0" * 32},
            {"gateway": "0" * 64},
            {"node_id": key_id(other)},
            {"signed_session": "6" * 32},
        )
        for changed in wrong:
            assert await client.says(**changed) == "refused", changed
        assert await store.read(nodes.requests) == ()
        assert await client.says() == "waiting"


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"t":"welcome","name":"x"}', '{"t":"auth"}', "x" * 5000, '{"t":"ended"}'],
)
async def test_who_begins_otherwise_is_cut_off(tmp_path: Path, store: Store, text: str) -> None:
    """Also one that sends more than an unknown node may."""
    async with node_gateway(tmp_path / "g", store) as gateway:
        url = f"wss://127.0.0.1:{gateway.port}/v1/node"
        async with plain_connect(url, ssl=client_context(), proxy=None) as socket:
            await socket.recv()
            await socket.send(text)
            with pytest.raises(ConnectionClosed):
                await asyncio.wait_for(socket.recv(), 5)
        assert await store.read(nodes.requests) == ()


async def test_silent_connections_are_bounded(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of those that say nothing only so many are kept; later ones are sent away."""
    monkeypatch.setattr(fleet_module, "MOST_UNKNOWN", 3)
    async with node_gateway(tmp_path / "g", store) as gateway:
        url = f"wss://127.0.0.1:{gateway.port}/v1/node"
        sockets = [await plain_connect(url, ssl=client_context(), proxy=None) for _ in range(3)]
        for socket in sockets:
            await socket.recv()
        late = await plain_connect(url, ssl=client_context(), proxy=None)
        with pytest.raises(ConnectionClosed):
            await asyncio.wait_for(late.recv(), 5)
        for socket in sockets:
            await socket.close()
        await until(lambda: gateway.fleet._unknown == 0)
        again = await plain_connect(url, ssl=client_context(), proxy=None)
        assert isinstance(decode(await again.recv()), Hello)
        await again.close()


async def test_a_node_that_says_much_is_heard_slowly(tmp_path: Path, store: Store) -> None:
    """Otherwise it occupies the gateway: 2,000 small frames a second are read beyond the first."""
    frame = json.dumps({"t": "started", "run_id": "0" * 26, "age_ms": 1})
    async with (
        node_gateway(tmp_path / "gateway", store) as gateway,
        member_of(tmp_path / "node", gateway.port, key_id(gateway.key)) as node,
    ):
        await gateway.approved()
        await until(lambda: node.heard.joins)
        link = node.heard.joins[0].link
        flood = asyncio.ensure_future(_flood(link, frame, 20_000))
        await until(lambda: len(gateway.heard.frames) > 1_500)
        await asyncio.sleep(2)
        heard = len(gateway.heard.frames)
        flood.cancel()

    assert 1_500 < heard < 8_000


async def test_a_node_that_comes_again_may_say_no_more(tmp_path: Path, store: Store) -> None:
    """Each connection had its own allowance, so that a node that reconnects had no bound."""
    frame = json.dumps({"t": "started", "run_id": "0" * 26, "age_ms": 1})
    async with (
        node_gateway(tmp_path / "gateway", store) as gateway,
        member_of(tmp_path / "node", gateway.port, key_id(gateway.key)) as node,
    ):
        await gateway.approved()
        began = time.monotonic()
        for round_ in range(1, 6):
            link = await _link_of(node, round_)
            with contextlib.suppress(ConnectionClosed, TimeoutError):
                await asyncio.wait_for(_flood(link, frame, 1_500), 2)
            link.socket.transport.abort()
        await asyncio.sleep(0.5)
        heard, seconds = len(gateway.heard.frames), time.monotonic() - began

    most = 2_100 * (1 + seconds)  # 4 MiB at once, and 4 MiB a second, by frames of 2 KiB
    assert 1_000 < heard < most


async def _link_of(node: RunningMember, number: int) -> NodeLink:
    """Return a node's side of the connection that it has made as often."""
    await until(lambda: len(node.heard.joins) >= number)
    return node.heard.joins[-1].link


async def _flood(link: NodeLink, frame: str, number: int) -> None:
    for _ in range(number):
        await link.socket.send(frame)


async def test_countless_values_of_a_node_are_not_read(tmp_path: Path, store: Store) -> None:
    """Four mebibytes of them took five seconds, in which no one else was served."""
    frame = '{"t":"invoked","id":"' + "0" * 32 + '","result":{"x":[' + "[]," * 1_300_000 + "[]]}}"
    async with (
        node_gateway(tmp_path / "gateway", store) as gateway,
        member_of(tmp_path / "node", gateway.port, key_id(gateway.key)) as node,
    ):
        await gateway.approved()
        await until(lambda: node.heard.joins)
        await node.heard.joins[0].link.socket.send(frame)
        await until(lambda: gateway.heard.leaves)

    assert gateway.heard.frames == []

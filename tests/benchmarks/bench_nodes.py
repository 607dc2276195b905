"""Time runs on a node beside the same runs here, and weigh 200 nodes on one gateway.

A node is a process of its own, connected over loopback TLS, paired as a person pairs it. The 200
are light: they hold keys, connections and pings, as a node does, and run nothing.
"""

import asyncio
import os
import re
import secrets
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

from bot.client import Client
from core.model.node import NodeId
from core.nodes.frames import Auth, Hello, Welcome, proof
from core.nodes.link import NodeLink, connect
from core.store import open_store
from core.store.people import nodes
from core.store.people.nodes import PairingDraft
from core.trust.identity import SigningKey, key_id
from core.trust.ids import new_id
from tests.support.node_process import NodePair, node_pair
from tests.support.pace import Pace, slowness, words

ROUNDS = 60
GOAL_ABOVE_MS = 5.0
"""What a run on a node may take longer than the same run here, at p50."""
FLEET, GOAL_FLEET_MB, GOAL_IDLE = 200, 40.0, 0.05
IDLE_S = 11.0
"""Longer than the time between two pings."""
AT_ONCE, DEADLINE_S, GOAL_LATE_S = 50, 2.0, 1.0


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodePair]:
    """Run a gateway and its node `web`, on which the agent `free` may run everything."""
    with node_pair(tmp_path_factory.mktemp("nodes")) as made:
        made.node.approvals(free={"security": "full", "ask": "off"})
        yield made


def asked(client: Client, host: str, argv: list[str], **more: Any) -> dict[str, Any]:
    """Run a command to its end and return what became of it."""
    what = {"argv": argv, "cwd": "/", "agent": "free", "host": host, **more}
    return client.call("exec.run", what, 60)


def timed_ms(client: Client, host: str) -> float:
    """Return how long `/bin/true` takes from the request to its end."""
    begin = time.perf_counter()
    answer = asked(client, host, ["/bin/true"])
    took = time.perf_counter() - begin
    assert (answer["status"], answer["exitCode"]) == ("finished", 0), answer
    return took * 1e3


@pytest.mark.benchmark
def test_a_run_on_a_node(pair: NodePair, capsys: pytest.CaptureFixture[str]) -> None:
    """Prepared there, judged twice, ordered, run and noted: beside a run on this machine."""
    pace = Pace()
    with Client(str(pair.gateway.home / "gateway.sock")) as client:
        for _ in range(5):
            timed_ms(client, "node"), timed_ms(client, "gateway")
        rows = []
        for _ in range(ROUNDS):
            pace.sample()
            rows.append((timed_ms(client, "node"), timed_ms(client, "gateway")))
    there, here = (statistics.median(column) for column in zip(*rows, strict=True))
    slow = pace.slowness()
    with capsys.disabled():
        print(
            f"\n/bin/true p50: on a node over loopback TLS {there:.1f} ms, here {here:.1f} ms; "
            f"{there - here:.1f} ms more (goal <= {GOAL_ABOVE_MS:.0f} ms) {words(slow)}"
        )
    assert there - here <= GOAL_ABOVE_MS * slow


@dataclass(frozen=True)
class Load:
    """What a process has used: MB that are resident, seconds of CPU."""

    mb: float
    cpu_s: float

    @classmethod
    def of(cls, pid: int) -> "Load":
        """Read it."""
        status = Path(f"/proc/{pid}/status").read_text()
        resident = re.search(r"VmRSS:\s+(\d+) kB", status)
        assert resident is not None
        ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
        return cls(int(resident[1]) / 1024, sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK"))


@dataclass(frozen=True)
class LightNode:
    """A node that is connected and does nothing."""

    key: SigningKey
    token: str

    @property
    def draft(self) -> PairingDraft:
        """Return its request to be paired."""
        name = f"light-{key_id(self.key)[:12]}"
        return PairingDraft(NodeId(key_id(self.key)), self.token, name, "127.0.0.1")

    async def joined(self, pair: NodePair) -> NodeLink:
        """Connect and prove itself, in the frames of a node."""
        host, port = pair.address.split(":")
        link = await connect(host, int(port), pair.key)
        hello, session = await link.receive(10), new_id()
        assert isinstance(hello, Hello)
        signature = self.key.sign(proof(hello.nonce, pair.key, session)).hex()
        draft = self.draft
        auth = Auth(
            node_id=draft.id,
            name=draft.name,
            token=draft.token,
            session=session,
            signature=signature,
        )
        await link.send(auth)
        assert isinstance(await link.receive(10), Welcome)
        return link


async def paired(pair: NodePair, count: int) -> list[LightNode]:
    """Pair so many light nodes as a person's word does, while the gateway is down."""
    light = [LightNode(SigningKey.generate(), secrets.token_hex(32)) for _ in range(count)]

    def approve(conn: Connection) -> None:
        for one in light:
            nodes.approve(conn, nodes.request(conn, one.draft).code, "uid:0")

    store = await open_store(f"sqlite:///{pair.gateway.home}/state.db")
    try:
        await store.write(approve)
    finally:
        await store.close()
    return light


@asynccontextmanager
async def connected(pair: NodePair, light: list[LightNode]) -> AsyncIterator[None]:
    """Keep light nodes connected for as long as the block lasts."""
    async with AsyncExitStack() as stack:
        turns = asyncio.Semaphore(16)

        async def join(one: LightNode) -> None:
            async with turns:
                stack.push_async_callback((await one.joined(pair)).close)

        await asyncio.gather(*(join(one) for one in light))
        yield


@pytest.mark.benchmark
async def test_two_hundred_nodes(pair: NodePair, capsys: pytest.CaptureFixture[str]) -> None:
    """What 200 connected nodes cost a gateway that does nothing else: memory, and CPU."""
    pair.gateway.stop()
    light = await paired(pair, FLEET)
    await asyncio.to_thread(pair.gateway.start)
    await asyncio.to_thread(pair.until_connected, 2)
    assert pair.gateway.process is not None
    pid = pair.gateway.process.pid
    before = Load.of(pid)
    async with connected(pair, light):
        begin, full = time.monotonic(), Load.of(pid)
        await asyncio.sleep(IDLE_S)
        idle, took = Load.of(pid), time.monotonic() - begin
        found = await asyncio.to_thread(pair.gateway.json, "node", "list")
        assert sum(node["connected"] for node in found["nodes"]) == FLEET + 1
    more, busy, slow = idle.mb - before.mb, (idle.cpu_s - full.cpu_s) / took, slowness()
    with capsys.disabled():
        print(
            f"\n{FLEET} nodes on a gateway: {more:.1f} MB more (goal <= {GOAL_FLEET_MB:.0f} MB), "
            f"{busy:.1%} CPU idle (goal <= {GOAL_IDLE:.0%}); "
            f"{(full.cpu_s - before.cpu_s) / FLEET * 1e3:.1f} ms CPU to let one in {words(slow)}"
        )
    assert more <= GOAL_FLEET_MB
    assert busy <= GOAL_IDLE * slow


@pytest.mark.benchmark
def test_fifty_runs_at_a_time(pair: NodePair, capsys: pytest.CaptureFixture[str]) -> None:
    """Each of 50 runs on one node ends at its deadline, and not before."""
    began = time.perf_counter()

    def run(client: Client) -> tuple[dict[str, Any], float]:
        answer = asked(client, "node", ["/bin/sleep", "30"], timeoutMs=round(DEADLINE_S * 1e3))
        return answer, time.perf_counter() - began

    with ExitStack() as stack, ThreadPoolExecutor(AT_ONCE) as pool:
        path = str(pair.gateway.home / "gateway.sock")
        clients = [stack.enter_context(Client(path)) for _ in range(AT_ONCE)]
        ends = list(pool.map(run, clients))
    print(ends[0])

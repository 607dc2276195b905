"""Time a node against the gateway's own host, and measure what two hundred connected nodes take.

Real processes over TLS on loopback. The two hundred are this process's own: each has its key, its
pairing and its connection, and runs nothing.
"""

import asyncio
import os
import statistics
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from core.model.node import NodeId
from core.nodes.member import Member
from core.nodes.node_file import NodeFile, begin, node_key
from core.store import open_store
from core.store.people import nodes
from core.trust.identity import Identity, key_id
from tests.support.gateway_process import GatewayProcess
from tests.support.memory_use import resident_kb
from tests.support.node_fleet import NodeFleet, listening_gateway, node_fleet
from tests.support.node_links import Heard
from tests.support.pace import slowness, words
from tests.support.waiting import until

pytestmark = pytest.mark.benchmark
RUNS, WARM, CALLERS, CONNECTED = 40, 5, 50, 200
MOST_TIMES, MOST_MB, MOST_CPU = 3.0, 40.0, 0.05
"""How many times the gateway's host a node may take; memory and processor of all that are idle."""
LIMIT_S, LATE_S, IDLE_S = 2, 0.5, 4.0
"""How long a command may run, how much later it may have ended, and how long nodes are idle."""


def say(capsys: pytest.CaptureFixture[str], line: str) -> None:
    """Print a line past pytest's capture."""
    with capsys.disabled():
        print(f"\n{line}")


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeFleet]:
    """Run a gateway with one node."""
    with node_fleet(tmp_path_factory.mktemp("fleet"), 1) as made:
        yield made


def wish(fleet: NodeFleet, host: str, *argv: str, **more: Any) -> dict[str, Any]:
    """Return the params of a request."""
    node = {"node": fleet.nodes[0].id} if host == "node" else {}
    return {"argv": list(argv), "cwd": "/", "agent": "free", "host": host, **node, **more}


def test_a_run_on_a_node(fleet: NodeFleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Prepared, judged twice, sealed, run and reported, in turn with the gateway's own host."""
    took: dict[str, list[float]] = {"gateway": [], "node": []}
    with Client(str(fleet.gateway.home / "gateway.sock")) as client:
        for number in range(WARM + RUNS):
            for host, seen in took.items():
                began = time.perf_counter()
                done = client.call("exec.run", wish(fleet, host, "/usr/bin/true"))
                if number >= WARM:
                    seen.append((time.perf_counter() - began) * 1000)
                assert done["exitCode"] == 0
    here, there = (statistics.median(took[one]) for one in ("gateway", "node"))
    say(
        capsys,
        f"prepare to run on a node: p50 {there:.1f} ms, the gateway's host {here:.1f} ms: "
        f"{there - here:.1f} ms above (goal 5), {there / here:.1f} x",
    )

    assert there / here <= MOST_TIMES


def test_many_runs_on_a_node(fleet: NodeFleet, capsys: pytest.CaptureFixture[str]) -> None:
    """Fifty at once: each is ended at its own limit, and the quick ones beside them are done."""

    def one(number: int) -> dict[str, Any]:
        asked = wish(fleet, "node", "/bin/sleep", f"60.{number}", timeoutMs=LIMIT_S * 1000)
        with Client(str(fleet.gateway.home / "gateway.sock")) as client:
            return client.call("exec.run", asked, timeout=60)

    with ThreadPoolExecutor(CALLERS) as pool:
        ended = list(pool.map(one, range(CALLERS)))
    late_s = max(done["durationMs"] for done in ended) / 1000 - LIMIT_S
    slow = slowness()
    say(capsys, f"{CALLERS} runs at once on a node: at most {late_s:.2f} s late {words(slow)}")

    assert all(done["timedOut"] for done in ended)
    assert 0 <= late_s <= LATE_S * slow


async def _pair(gateway: GatewayProcess, files: list[NodeFile]) -> None:
    store = await open_store(f"sqlite:///{gateway.home}/state.db")
    try:
        for file in files:
            draft = nodes.PairingDraft(
                NodeId(file.node_id), file.pairing_token, file.display_name, "127.0.0.1"
            )
            asked = await store.write(nodes.request, draft)
            await store.write(nodes.approve, asked.code, "uid:0")
    finally:
        await store.close()


@asynccontextmanager
async def _connected(homes: list[Path], files: list[NodeFile]) -> AsyncIterator[None]:
    """Have all nodes connected, a few at a time."""
    works = [Heard() for _ in files]
    async with asyncio.TaskGroup() as group:
        tasks = []
        for home, file, work in zip(homes, files, works, strict=True):
            member = Member(file, node_key(home), work, lambda _words: None)
            tasks.append(group.create_task(member.run()))
            await until(lambda work=work: work.joins)
        yield
        for task in tasks:
            task.cancel()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def test_many_nodes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two hundred stay connected: what the gateway takes more, and while nothing happens."""
    with listening_gateway(tmp_path) as (gateway, address):
        key = key_id(Identity.load(gateway.home).agent)
        homes = [tmp_path / f"node{number}" for number in range(CONNECTED)]
        for home in homes:
            home.mkdir(mode=0o700)
        files = [begin(home, home.name, address, key) for home in homes]
        await _pair(gateway, files)
        gateway.start()
        assert gateway.process is not None
        pid = gateway.process.pid
        before_kb = resident_kb(pid)
        async with _connected(homes, files):
            more_mb = (resident_kb(pid) - before_kb) / 1024
            used_s = _cpu_s(pid)
            await asyncio.sleep(IDLE_S)
            share = (_cpu_s(pid) - used_s) / IDLE_S
    slow = slowness()
    say(
        capsys,
        f"{CONNECTED} nodes: {more_mb:.0f} MB more, {share:.1%} of a core while idle {words(slow)}",
    )

    assert more_mb <= MOST_MB
    assert share <= MOST_CPU * slow

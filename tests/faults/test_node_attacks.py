"""Attack with an admitted but hostile node, a copied key, a set clock, other names.

Each scene ends with the same thing done correctly, which works: what was stopped was the attack.
"""

import asyncio
import json
import os
import shutil
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from bot.node.work import NodeWork
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.model.result import Finished, Output
from core.nodes.fingerprints import fingerprint_words
from core.nodes.frames import LARGEST, Ended, NotRun, Started, encode
from core.planning.planner import Refusal
from core.store import Store, open_store
from core.store.people import nodes
from tests.support.memory_use import resident_kb
from tests.support.node_bench import POLICY, Bench, NoRuns, node_bench, request
from tests.support.node_links import member_of, node_gateway
from tests.support.runs import Start, new_run
from tests.support.waiting import until

FLOOD, AT_ONCE = 400, 64


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Yield a store in a file."""
    opened = await open_store(f"sqlite:///{tmp_path}/state.db")
    yield opened
    await opened.close()


@pytest.fixture
async def bench(tmp_path: Path, store: Store) -> AsyncIterator[Bench]:
    """Yield a gateway's host with a paired node that may run everything."""
    async with node_bench(tmp_path, store) as made:
        yield made


async def _runs(bench: Bench) -> bool:
    found = await bench.plan("true")
    return (await bench.host.run(new_run(), found.plan, Start())).exit_code == 0


def _work(bench: Bench) -> NodeWork:
    assert bench.member is not None
    return cast("NodeWork", bench.member.work)


def _frame(first: int, announced: int, body: bytes = b"") -> bytes:
    """Return the start of a WebSocket frame of a client, masked with zeros."""
    return bytes((first, 0xFF)) + announced.to_bytes(8) + bytes(4) + body


RAW: dict[str, Callable[[], list[bytes]]] = {
    "2 GB are announced": lambda: [_frame(0x81, 2 << 30, b"x" * 1024)],
    "as many as the header can say": lambda: [_frame(0x81, (1 << 63) - 1, b"{")],
    "pieces without an end": lambda: [
        _frame(0x01 if not number else 0x00, 1 << 20, b" " * (1 << 20))
        for number in range(LARGEST // (1 << 20) + 2)
    ],
    "a compressed message, though none was agreed on": lambda: [
        _frame(0xC1, 1 << 10, b"\xec\xc1\x01" + b"\0" * 1021)
    ],
    "a binary message": lambda: [_frame(0x82, 2, b"{}")],
    "an unknown kind of frame": lambda: [_frame(0x8B, 2, b"{}")],
    "deep nesting": lambda: [_frame(0x81, 200_000, b"[" * 200_000)],
    "a number of 100,000 digits": lambda: [
        _frame(0x81, 100_040, (b'{"t":"started","age_ms":' + b"9" * 100_000).ljust(100_040, b"9"))
    ],
}


@pytest.mark.parametrize("name", RAW)
async def test_what_is_too_much_ends_the_connection(bench: Bench, name: str) -> None:
    """At once, and without memory for what was announced; the node reconnects and is heard."""
    work, first = _work(bench), bench.connection
    await until(lambda: work._joined)
    assert work._joined is not None
    before = resident_kb(os.getpid())
    for piece in RAW[name]():
        work._joined.link.socket.transport.write(piece)
    await until(lambda: bench.host.fleet.connected and bench.connection is not first)
    assert resident_kb(os.getpid()) - before < 64 << 10
    assert await _runs(bench)


@dataclass
class SlowRuns(NoRuns):
    """A store that is slow; ``most`` is how many calls were in it at a time."""

    free: asyncio.Event = field(default_factory=asyncio.Event)
    now: int = 0
    most: int = 0
    ages: list[int] = field(default_factory=list)

    async def settle(self, node: NodeId, ending: Ended | NotRun) -> bool:
        """Wait, then keep an ending."""
        self.now += 1
        self.most = max(self.most, self.now)
        await self.free.wait()
        self.now -= 1
        return await super().settle(node, ending)

    async def running(self, _run: ApprovalId, seconds: int) -> None:
        """Keep how long a run is said to last."""
        self.ages.append(seconds)


async def test_made_up_endings_wait_for_one_another(bench: Bench) -> None:
    """A node invents runs faster than the store can deny them: few are looked up at a time.

    None is lost because of it: a real ending that comes after them arrives.
    """
    bench.host.runs = bench.host._orders.runs = slow = SlowRuns(bench.settled)
    sending = []
    for number in range(FLOOD):
        made_up = ApprovalId(f"{number:026d}")
        ending = Ended(run_id=made_up, result=Finished(made_up, 0, None, Output(), 1))
        sending.append(asyncio.ensure_future(bench.node_says(encode(ending))))
    await until(lambda: slow.now == AT_ONCE)
    await asyncio.sleep(0.2)
    assert (slow.now, len(bench.host._orders._settling)) == (AT_ONCE, AT_ONCE)
    slow.free.set()
    await asyncio.gather(*sending)
    await until(lambda: len(bench.settled) == FLOOD)
    assert slow.most == AT_ONCE
    assert await _runs(bench)


async def test_a_run_is_never_older_than_its_order(bench: Bench) -> None:
    """A node says that a run has lasted for a month; the notice says what is possible."""
    bench.host.runs = bench.host._orders.runs = slow = SlowRuns(bench.settled)
    slow.free.set()
    bench.host.notice_after_ms = lambda: 50
    run_id, found = new_run(), await bench.plan("sleep 4")
    running = asyncio.ensure_future(bench.host.run(run_id, found.plan, Start()))
    await until(lambda: run_id in bench.host._orders._open)
    await bench.node_says(encode(Started(run_id=run_id, age_ms=30 * 86_400_000)))
    assert (await running).exit_code == 0
    await until(lambda: slow.ages)
    assert max(slow.ages) < 60


@pytest.mark.parametrize("hours", [1, -1, 24 * 365])
async def test_a_clock_that_is_set_makes_no_order_late(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, hours: int
) -> None:
    """The gateway's, the node's or both, between question and order; both count without it."""
    found = await bench.plan("true")
    wall, wall_ns, step = time.time, time.time_ns, hours * 3600
    monkeypatch.setattr(time, "time", lambda: wall() + step)
    monkeypatch.setattr(time, "time_ns", lambda: wall_ns() + step * 1_000_000_000)
    assert (await bench.host.run(new_run(), found.plan, Start())).exit_code == 0
    # The node counts from when the gateway's greeting reached it, which is a little later.
    now_ms = (await bench.joined()).now_ms()
    late = bench.order(found.plan, new_run(), not_after_ms=now_ms - 1)
    refused = await bench.says(late)
    assert isinstance(refused, NotRun)
    assert "too late" in refused.why


async def test_an_order_that_a_node_slept_on_is_late(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It waits in the kernel of a closed laptop: no other clock counts that time."""
    found, real = await bench.plan("true"), time.clock_gettime
    order = bench.order(found.plan, new_run())
    with monkeypatch.context() as asleep:
        hour = {time.CLOCK_BOOTTIME: 3_600.0}
        asleep.setattr(time, "clock_gettime", lambda clock: real(clock) + hour.get(clock, 0.0))
        refused = await bench.says(order)
    assert isinstance(refused, NotRun)
    assert "too late" in refused.why
    assert isinstance(await bench.says(bench.order(found.plan, new_run())), Ended)


async def test_a_node_that_is_revoked_while_it_prepares(bench: Bench, store: Store) -> None:
    """Its later answer counts for nothing, and what it made before is not run."""
    earlier, work = await bench.plan("true"), _work(bench)
    assert await _runs(bench)
    watching = asyncio.create_task(bench.host.fleet.watch())
    for _ in range(16):
        await work._turns.acquire()
    preparing = asyncio.ensure_future(bench.host.prepare(request("true"), POLICY))
    await until(lambda: bench.host._questions._open)
    await store.write(nodes.revoke, bench.connection.node.id)
    found = await preparing
    for _ in range(16):
        work._turns.release()
    assert isinstance(found, Refusal)
    assert found.reason is DenialReason.HOST_UNAVAILABLE
    with pytest.raises(Exception, match="not connected"):
        await bench.host.run(new_run(), earlier.plan, Start())
    watching.cancel()


async def test_a_node_that_is_renamed_during_a_run(bench: Bench, store: Store) -> None:
    """Runs use the id: it ends where it began. From then on the new name is bound and shown."""
    found = await bench.plan("sleep 0.5")
    running = asyncio.ensure_future(bench.host.run(new_run(), found.plan, Start()))
    await until(lambda: bench.host._orders._open)
    await store.write(nodes.rename, bench.connection.node.id, "db")
    assert (await running).exit_code == 0
    assert (found.plan.node_name, (await bench.plan("true")).plan.node_name) == ("web", "db")


async def test_a_copied_gateway_key_opens_no_door(tmp_path: Path, store: Store) -> None:
    """A second gateway with the key of the first has not paired the node: a person must, there.

    It does not see the node's pairing token either: only its hash is stored.
    """
    second = await open_store(f"sqlite:///{tmp_path}/second.db")
    async with node_gateway(tmp_path / "first", store) as real:
        async with member_of(tmp_path / "node", real.port, real.fleet.key) as node:
            await real.approved()
            await until(lambda: node.heard.joins)
        (tmp_path / "copy").mkdir()
        shutil.copy2(tmp_path / "first" / "gateway.key", tmp_path / "copy" / "gateway.key")
        async with node_gateway(tmp_path / "copy", second) as copy:
            assert copy.fleet.key == real.fleet.key
            async with member_of(tmp_path / "node", copy.port, copy.fleet.key) as lured:
                await until(lambda: any("must allow" in words for words in lured.said))
                assert lured.heard.joins == []
                words = fingerprint_words(lured.member.file.node_id)
                assert any(words in said for said in lured.said)
                assert lured.member.file.pairing_token not in json.dumps(lured.said)
        async with member_of(tmp_path / "node", real.port, real.fleet.key) as back:
            await until(lambda: back.heard.joins)
    await second.close()

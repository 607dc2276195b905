"""Report commands that run on a gateway's nodes."""

import asyncio
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.errors import CancelledFirst
from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.nodes.frames import Ended
from core.store import open_store
from tests.support.node_bench import NoRuns, node_bench
from tests.support.runs import Start, new_run
from tests.support.waiting import until


class OneRun(NoRuns):
    """A store in which a run is claimed for a node, and no more is known."""

    def __init__(self, node_id: NodeId) -> None:
        super().__init__([])
        self._node_id = node_id

    async def node_of(self, _run: ApprovalId) -> NodeId | None:
        """Return the node."""
        return self._node_id


@dataclass
class Claims(Start):
    """Takes as long for a claim as a busy store."""

    began: asyncio.Event = field(default_factory=asyncio.Event)
    ends: asyncio.Event = field(default_factory=asyncio.Event)

    async def claim(self) -> bool:
        """Take the claim once the test lets it."""
        self.began.set()
        await self.ends.wait()
        return True


async def test_only_a_node_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    """Its output arrives with the end; a run that is on no node is not its own."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    there, away = new_run(), new_run()
    try:
        async with node_bench(tmp_path, store) as bench:
            bench.expect(there, bench.connection.node.id)
            bench.expect(away, "f" * 64)
            seen = [await bench.host.tail(run) for run in (there, away, new_run())]
    finally:
        await store.close()

    assert [one is None for one in seen] == [True, False, True]
    assert seen[1] is not None
    assert seen[1].text.startswith("running (node unreachable since ")


@pytest.mark.parametrize("is_cancelled", [True, False])
async def test_a_run_that_is_cancelled_while_it_is_claimed_is_not_ordered(
    tmp_path: Path, *, is_cancelled: bool
) -> None:
    """The store knows it as a run of its node by then, and its order has not been sent."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    run_id, claims = new_run(), Claims()
    try:
        async with node_bench(tmp_path, store) as bench:
            found = await bench.plan(f"touch {tmp_path}/ran")
            bench.host.runs = bench.host._orders.runs = OneRun(bench.connection.node.id)
            running = asyncio.ensure_future(bench.host.run(run_id, found.plan, claims))
            await claims.began.wait()
            if is_cancelled:
                assert await bench.host.cancel(run_id)
            claims.ends.set()
            if is_cancelled:
                with pytest.raises(CancelledFirst):
                    await running
            else:
                assert (await running).exit_code == 0
    finally:
        await store.close()

    assert (tmp_path / "ran").exists() is not is_cancelled


def _ended(run_id: str, /, **result: object) -> str:
    """Return a node's report of how a run ended, with something in the result changed."""
    output = {"text": "out", "tail": "out", "total_bytes": 3}
    plain = {"run_id": run_id, "exit_code": 0, "signal": None, "output": output, "duration_ms": 1}
    return json.dumps({"t": "ended", "run_id": run_id, "result": {**plain, **result}})


@pytest.mark.parametrize(
    "result",
    [
        {"run_id": new_run()},
        {"exit_code": 99_999_999_999},
        {"signal": -(1 << 31)},
        {"duration_ms": -1},
        {"duration_ms": 1 << 60},
        {"output": {"text": "", "tail": "", "total_bytes": 99_999_999_999_999_999_999}},
    ],
    ids=["another run's", "code", "signal", "negative", "duration", "size"],
)
async def test_a_node_ends_its_own_run_alone_and_by_what_can_be_kept(
    tmp_path: Path, result: dict[str, object]
) -> None:
    """The journal and the results that wait for the store use the run that the result names.

    What the store cannot hold would leave the run without an end. The last is the control.
    """
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    run = new_run()
    try:
        async with node_bench(tmp_path, store) as bench:
            first = bench.connection
            ending = bench.expect(run, first.node.id)
            await bench.node_says(_ended(run, **result))
            await until(lambda: bench.host.fleet.connection(first.node.id) is not first)
            assert not ending.done()

            await until(lambda: bench.host.fleet.connected)
            await bench.node_says(_ended(run))
            assert (await ending).run_id == run
    finally:
        await store.close()


async def test_a_nodes_words_are_kept_no_longer_than_our_own(tmp_path: Path) -> None:
    """Four mebibytes of them would be shown to people, and stored forever."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    waited, settled = new_run(), new_run()
    words = {
        "output": {"text": "a" * 300_000, "tail": "b" * 300_000, "total_bytes": 300_000},
        "drift": "c" * 300_000,
        "findings": ["d" * 3_000] * 300,
        "token_usage": [[f"e{one}", 1] for one in range(300)],
    }
    try:
        async with node_bench(tmp_path, store) as bench:
            ending = bench.expect(waited, bench.connection.node.id)
            await bench.node_says(_ended(waited, **words))
            await bench.node_says(_ended(settled, **words))
            await until(lambda: bench.endings(settled))
            for found in (await ending, *bench.endings(settled)):
                assert isinstance(found, Ended)
                kept = found.result
                assert (len(kept.output.text), len(kept.output.tail)) == (200_000, 20_000)
                assert len(kept.drift) == 2_000
                assert [len(one) for one in kept.findings] == [2_000] * 100
                assert kept.token_usage == ()
    finally:
        await store.close()

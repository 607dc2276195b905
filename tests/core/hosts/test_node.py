"""What a gateway says of commands that run on its nodes."""

from pathlib import Path

from core.store import open_store
from tests.support.node_bench import node_bench
from tests.support.runs import new_run


async def test_only_a_node_that_is_away_is_said_to_be(tmp_path: Path) -> None:
    """Its output comes with the end; a run that is on no node is none of its."""
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

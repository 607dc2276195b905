"""Report which nodes are connected; one that is away is not a fault."""

from pathlib import Path
from typing import TYPE_CHECKING, cast

from bot.health.nodes import NodesProbe
from core.model.node import AWAY, NodeId, NodeState
from core.store import open_store
from core.store.people import nodes

if TYPE_CHECKING:
    from core.hosts.node import NodeHost


class Host:
    """A host to which the node `a…` is connected."""

    def state(self, node_id: NodeId) -> NodeState:
        """Return how a node is connected."""
        return NodeState(5_000, (), 3) if node_id[0] == "a" else AWAY


async def test_who_is_connected_and_who_is_away(tmp_path: Path) -> None:
    """The text names the absent ones; the rows are what metrics and status show."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    probe = NodesProbe(store, cast("NodeHost", Host()))
    (empty,) = await probe()
    for key, name in (("a", "web"), ("b", "db")):
        draft = nodes.PairingDraft(NodeId(key * 64), "t" * 64, name, "10.0.0.1")
        asked = await store.write(nodes.request, draft)
        await store.write(nodes.approve, asked.code, "uid:0")
    (found,) = await probe()
    shown = probe.shown()
    await store.close()
    (lost,) = await probe()

    assert (empty.ok, empty.detail) == (True, "0 of 0 connected")
    assert (found.ok, found.detail) == (True, "1 of 2 connected; away: db, never seen")
    assert (shown["web"]["connected"], shown["web"]["running"]) == (True, 3)
    assert shown["db"] == {"connected": False, "seenMs": None, "running": 0}
    assert not lost.ok

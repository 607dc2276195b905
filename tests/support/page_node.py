"""Pair a real node with a gateway that has a control page."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from core.store.people import nodes
from tests.support.api_gateway import ApiGateway
from tests.support.node_process import NodeProcess, stop_if_started
from tests.support.waiting import wait_until


@dataclass(slots=True)
class PagedNode:
    """A paired node, and its id."""

    process: NodeProcess
    id: str


@contextmanager
def paged_node(home: ApiGateway, folder: Path, address: str, name: str) -> Iterator[PagedNode]:
    """Run a node of its own process, paired and connected."""
    node = NodeProcess(folder)
    key = node.cli("node", "key", environ={**os.environ, "SAYSO_HOME": str(home.home)}).stdout
    try:
        node.start("--gateway", address, "--gateway-key", key.strip(), "--name", name)
        asked = wait_until(
            "a node that waits",
            lambda: home.do(home.gateway.store.read(nodes.requests)),
            seconds=30,
        )
        made = home.do(home.gateway.store.write(nodes.approve, asked[0].code, "uid:0", name))
        wait_until("its connection", lambda: connected(home, made.id), seconds=30)
        yield PagedNode(node, made.id)
    finally:
        stop_if_started(node)


def connected(home: ApiGateway, node_id: str) -> bool:
    """Return whether a node is connected now."""
    listed = home.client("reader").get("/v1/nodes").json()["nodes"]
    return any(one["id"] == node_id and one["connected"] for one in listed)

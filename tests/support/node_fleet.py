"""Start a gateway and several nodes, each a process behind its own relay."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.client import Client
from core.model.node import NodeId
from core.nodes.node_file import NodeFile, begin
from core.store import open_store
from core.store.people import nodes
from core.store.people.nodes import PairingDraft
from core.trust.identity import Identity, key_id
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.link_relay import Relay, relay
from tests.support.node_process import NodeProcess, stop_if_started
from tests.support.ports import free_port
from tests.support.waiting import wait_until

FULL = {"security": "full", "ask": "off"}


@dataclass
class FleetNode:
    """A node `n1`, its process, and the relay that it reaches the gateway through."""

    name: str
    id: str
    process: NodeProcess
    relay: Relay

    def has_connected(self) -> bool:
        """Return whether it has ever been connected."""
        return "connected to " in self.process.log.read_text()


@dataclass
class NodeFleet:
    """A gateway whose agent `free` may run everything on these nodes."""

    gateway: GatewayProcess
    nodes: list[FleetNode] = field(default_factory=list)

    @property
    def processes(self) -> tuple[GatewayProcess | NodeProcess, ...]:
        """Return the gateway and the nodes."""
        return (self.gateway, *(node.process for node in self.nodes))

    def call(self, method: str, params: dict[str, Any], timeout: float = 20) -> dict[str, Any]:
        """Call the gateway once."""
        with Client(str(self.gateway.home / "gateway.sock")) as client:
            return client.call(method, params, timeout)


@contextmanager
def node_fleet(
    home: Path, count: int, module: str = "bot", gateway_module: str = "bot", **exec_settings: Any
) -> Iterator[NodeFleet]:
    """Run a gateway and this many paired nodes; ``module`` is the module that starts the nodes.

    ``exec_settings`` go into ``tools.exec`` of the gateway. What the agent `main` runs must be
    approved.
    """
    folder = home / "gateway"
    write_config(folder, None)
    path, port = folder / "config.json5", free_port()
    config = json.loads(path.read_text())
    config["nodes"] = {"enabled": True, "listen": f"127.0.0.1:{port}"}
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": FULL}}]}
    config["tools"]["exec"] |= exec_settings
    path.write_text(json.dumps(config))
    fleet = NodeFleet(GatewayProcess(folder, module=gateway_module))
    key = key_id(Identity.load(folder).agent)
    with ExitStack() as stack:
        for number in range(count):
            node = NodeProcess(home / f"node{number}", module=module)
            node.approvals(free=FULL, main=FULL)
            link = stack.enter_context(relay(port))
            file = begin(node.home, f"n{number}", f"127.0.0.1:{link.port}", key)
            fleet.nodes.append(FleetNode(file.display_name, file.node_id, node, link))
            asyncio.run(_paired(f"sqlite:///{folder}/state.db", file))
        for process in fleet.processes:
            stack.callback(stop_if_started, process)
            process.start()
        for one in fleet.nodes:
            wait_until(f"{one.name} to be connected", one.has_connected, seconds=60)
        yield fleet


async def _paired(url: str, file: NodeFile) -> None:
    """Pair a node as its request and an approver's command do; tests/e2e types them."""
    store = await open_store(url)
    try:
        draft = PairingDraft(
            NodeId(file.node_id), file.pairing_token, file.display_name, "127.0.0.1"
        )
        asked = await store.write(nodes.request, draft)
        await store.write(nodes.approve, asked.code, "uid:0")
    finally:
        await store.close()

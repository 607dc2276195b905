"""Check the paired nodes: which are connected, when the others last were, what runs on each."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from bot.health.check import Finding, Verdict
from core.errors import StoreError
from core.model.node import Node, NodeState
from core.store import Store
from core.store.people import nodes
from core.text.render import redact

if TYPE_CHECKING:  # loads the WebSocket library
    from core.hosts.node import NodeHost

_SHOWN = 5


@dataclass(slots=True)
class NodesProbe:
    """Checks the nodes. An offline one is not a fault of the gateway: laptops sleep."""

    store: Store
    host: "NodeHost"
    _seen: dict[str, dict[str, object]] = field(default_factory=dict)

    async def __call__(self) -> Sequence[Finding]:
        """Return how many are connected, and which are offline since when."""
        try:
            paired = await self.store.read(nodes.listed)
        except StoreError as failure:
            return (Finding(Verdict.FAIL, "nodes", f"cannot be looked up: {failure}"),)
        states = {node.id: self.host.state(node.id) for node in paired}
        self._seen = {redact(node.name).text: _row(node, states[node.id]) for node in paired}
        away = [node for node in paired if not states[node.id].connected]
        words = f"{len(paired) - len(away)} of {len(paired)} connected"
        if away:
            words += "; away: " + ", ".join(map(_away, away[:_SHOWN]))
        if len(away) > _SHOWN:
            words += f" and {len(away) - _SHOWN} more"
        return (Finding(Verdict.OK, "nodes", words),)

    def shown(self) -> dict[str, dict[str, object]]:
        """Return what was seen last, node by node, for programs."""
        return self._seen


def _row(node: Node, state: NodeState) -> dict[str, object]:
    seen_ms = time.time_ns() // 1_000_000 if state.connected else node.seen_ms
    return {"connected": state.connected, "seenMs": seen_ms, "running": state.running}


def _away(node: Node) -> str:
    name = redact(node.name).text
    if node.seen_ms is None:
        return f"{name}, never seen"
    seen = datetime.fromtimestamp(node.seen_ms / 1000, UTC)
    return f"{name}, last seen {seen:%Y-%m-%d %H:%M} UTC"

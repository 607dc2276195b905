"""Show the state of the gateway's parts as gauges: the input of alert rules.

Label values are names of parts, channels and entry points, which are configured, and of nodes,
which a person allowed.
"""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Gauge

_HELD = "held"


@dataclass(frozen=True, slots=True)
class Status:
    """What a scrape sees: how many approvals wait and since when, what is due, and the health.

    Times are epoch ms, ``None`` where nothing waits. ``pending`` is NaN if the store does not
    answer. ``health`` is what ``health.get`` reports.
    """

    pending: float = math.nan
    oldest_ms: int | None = None
    due_ms: int | None = None
    health: Mapping[str, object] = field(default_factory=dict)


class _NodeGauges:
    """The gauges of the nodes, by name."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._up = Gauge(
            "sayso_node_connected", "1: the node is connected", ("node",), registry=registry
        )
        self._seen_s = Gauge(
            "sayso_node_seen_timestamp_seconds",
            "When the node was last connected, in epoch seconds; now where it is",
            ("node",),
            registry=registry,
        )
        self._runs = Gauge(
            "sayso_node_runs",
            "Runs that a node was ordered and has not ended",
            ("node",),
            registry=registry,
        )

    def show(self, found: object) -> None:
        """Set every gauge; nodes that are gone are no longer shown."""
        for gauge in (self._up, self._seen_s, self._runs):
            gauge.clear()
        for name, node in _rows(found):
            self._up.labels(name).set(node.get("connected") is True)
            seen_ms, running = node.get("seenMs"), node.get("running")
            self._seen_s.labels(name).set(seen_ms / 1000 if isinstance(seen_ms, int) else 0)
            self._runs.labels(name).set(running if isinstance(running, int) else 0)


class StatusGauges:
    """The gauges of one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._pending = Gauge("sayso_approvals_pending", "Pending approvals", registry=registry)
        self._oldest_s = Gauge(
            "sayso_approvals_oldest_seconds",
            "Age of the oldest pending approval, 0 where none is",
            registry=registry,
        )
        self._late_s = Gauge(
            "sayso_outbox_late_seconds",
            "How long the next message to people is overdue, 0 where none is",
            registry=registry,
        )
        self._parts = Gauge(
            "sayso_part_ok", "1: the part is well; 0: it fails", ("part",), registry=registry
        )
        self._lockdown = Gauge("sayso_lockdown", "1: everything is denied", registry=registry)
        self._held = Gauge(
            "sayso_gate_proof_held",
            "1: the last proof of the entry point held",
            ("entry_point",),
            registry=registry,
        )
        self._proved_s = Gauge(
            "sayso_gate_proof_timestamp_seconds",
            "When the entry point was last proved, in epoch seconds",
            ("entry_point",),
            registry=registry,
        )

        self._nodes = _NodeGauges(registry)

    def show(self, status: Status) -> None:
        """Set every gauge; parts that are gone are no longer shown."""
        now_ms = time.time() * 1000
        self._pending.set(status.pending)
        self._oldest_s.set(_since(status.oldest_ms, now_ms))
        self._late_s.set(_since(status.due_ms, now_ms))
        self._lockdown.set(status.health.get("lockdown") is not None)
        self._parts.clear()
        for name, part in _rows(status.health.get("parts")):
            self._parts.labels(name).set(part.get("ok") is True)
        self._nodes.show(status.health.get("nodes"))
        self._held.clear()
        self._proved_s.clear()
        for name, proof in _rows(status.health.get("gateProofs")):
            self._held.labels(name).set(proof.get("state") == _HELD)
            at_ms = proof.get("atMs")
            self._proved_s.labels(name).set(at_ms / 1000 if isinstance(at_ms, int) else math.nan)


def _since(at_ms: int | None, now_ms: float) -> float:
    return 0.0 if at_ms is None else max(0.0, (now_ms - at_ms) / 1000)


def _rows(found: object) -> list[tuple[str, Mapping[str, object]]]:
    if not isinstance(found, Mapping):
        return []
    return [(str(name), row) for name, row in found.items() if isinstance(row, Mapping)]

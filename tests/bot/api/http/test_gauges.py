"""Update a registry's gauges from the gateway's health: what alert rules are made of."""

import math
import time

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from bot.api.http.gauges import Status, StatusGauges
from tests.bot.api.metrics import value


def test_nodes_are_shown_by_name_and_no_longer_than_they_are_paired() -> None:
    """Connected, last seen and what runs there; a revoked node leaves no series."""
    registry = CollectorRegistry()
    gauges = StatusGauges(registry)
    rows = {
        "web": {"connected": True, "seenMs": 5_000, "running": 2},
        "db": {"connected": False, "seenMs": None, "running": 0},
    }
    gauges.show(Status(health={"nodes": rows}))
    both = generate_latest(registry).decode()
    gauges.show(Status(health={"nodes": {"web": rows["web"]}}))
    one = generate_latest(registry).decode()

    assert value(both, "sayso_node_connected", node="web") == 1
    assert value(both, "sayso_node_connected", node="db") == 0
    assert value(both, "sayso_node_seen_timestamp_seconds", node="web") == 5
    assert value(both, "sayso_node_runs", node="web") == 2
    assert 'node="db"' not in one


def test_a_part_that_is_gone_is_shown_no_more() -> None:
    """A series of a channel removed from the configuration must not stay forever."""
    registry = CollectorRegistry()
    gauges = StatusGauges(registry)
    gauges.show(Status(health={"parts": {"channel slack": {"ok": True}}}))
    with_slack = generate_latest(registry).decode()
    gauges.show(Status(due_ms=int(time.time() * 1000) - 5_000))
    without = generate_latest(registry).decode()

    assert value(with_slack, "sayso_part_ok", part="channel slack") == 1
    assert "channel slack" not in without
    assert 4 < value(without, "sayso_outbox_late_seconds") < 60


def test_each_proof_says_whether_it_held_and_when() -> None:
    """An alert looks for 0 and for a time long ago; a proof never made has no time."""
    registry = CollectorRegistry()
    proofs = {
        "socket": {"state": "held", "atMs": 5_000},
        "remote": {"state": "failed", "atMs": 9_000},
        "chat": {"state": "incomplete", "atMs": None},
    }
    StatusGauges(registry).show(Status(health={"gateProofs": proofs}))
    text = generate_latest(registry).decode()

    held = {name: value(text, "sayso_gate_proof_held", entry_point=name) for name in proofs}
    assert held == {"socket": 1, "remote": 0, "chat": 0}
    proved_s = "sayso_gate_proof_timestamp_seconds"
    assert value(text, proved_s, entry_point="socket") == 5
    assert value(text, proved_s, entry_point="remote") == 9
    assert math.isnan(value(text, proved_s, entry_point="chat"))


@pytest.mark.parametrize("rows", [None, "broken", {"socket": "broken"}])
def test_a_report_of_another_shape_shows_no_row(rows: object) -> None:
    """The scrape continues with the other gauges."""
    registry = CollectorRegistry()
    health = {"parts": rows, "nodes": rows, "gateProofs": rows, "lockdown": {"why": "a test"}}
    StatusGauges(registry).show(Status(pending=3, health=health))
    text = generate_latest(registry).decode()

    assert value(text, "sayso_approvals_pending") == 3
    assert value(text, "sayso_lockdown") == 1
    assert "sayso_part_ok{" not in text
    assert "sayso_node_connected{" not in text
    assert "sayso_gate_proof_held{" not in text


def test_ages_are_zero_where_nothing_waits_and_never_negative() -> None:
    """A clock that has been set back since must not show a question from the future."""
    registry = CollectorRegistry()
    gauges = StatusGauges(registry)
    now_ms = int(time.time() * 1000)
    gauges.show(Status(pending=1, oldest_ms=now_ms - 30_000, due_ms=now_ms + 60_000))
    waiting = generate_latest(registry).decode()
    gauges.show(Status(pending=0))
    calm = generate_latest(registry).decode()

    assert value(waiting, "sayso_approvals_oldest_seconds") == pytest.approx(30, abs=5)
    assert value(waiting, "sayso_outbox_late_seconds") == 0
    assert value(calm, "sayso_approvals_oldest_seconds") == 0
    assert value(calm, "sayso_lockdown") == 0

"""Show the state of the gateway's parts in `/metrics`, even if one of them fails."""

import asyncio
import math
import time
from pathlib import Path
from typing import Any

import pytest

from bot.api.http.gauges import Status
from bot.api.http.metrics import MeteredJournal, Meters
from bot.api.rest import pages
from bot.api.rest.pages import Scrape
from core.errors import JournalError
from core.store import open_store
from tests.bot.api.metrics import value
from tests.support.api_gateway import api_gateway
from tests.support.waiting import wait_until


def test_the_parts_of_a_running_gateway_are_shown(tmp_path: Path) -> None:
    """What waits and since when, each part, each proof, the lockdown."""
    with api_gateway(tmp_path / "home") as home:
        reader = home.client("reader")
        wait_until("a proof", lambda: "sayso_gate_proof_held{" in reader.get("/metrics").text)
        calm = reader.get("/metrics").text
        home.ask("uname")
        time.sleep(0.1)
        waiting = reader.get("/metrics").text
        home.gateway.gate.execution.guard.lockdown.engage("a test", by="uid:0")
        locked = reader.get("/metrics").text

    assert value(calm, "sayso_part_ok", part="store") == 1
    assert value(calm, "sayso_gate_proof_held", entry_point="socket") == 1
    proved_s = value(calm, "sayso_gate_proof_timestamp_seconds", entry_point="socket")
    assert abs(time.time() - proved_s) < 60
    assert value(calm, "sayso_approvals_oldest_seconds") == 0
    assert 0.05 < value(waiting, "sayso_approvals_oldest_seconds") < 60
    assert value(calm, "sayso_lockdown") == 0
    assert value(locked, "sayso_lockdown") == 1
    assert value(locked, "sayso_part_ok", part="lockdown") == 0


async def test_a_lost_store_does_not_fail_the_scrape(tmp_path: Path) -> None:
    """Then it is not known what waits."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    scrape = Scrape(store, _failing)
    before = await scrape()
    await store.close()
    after = await scrape()

    assert (before.pending, before.oldest_ms, before.due_ms) == (0, None, None)
    assert math.isnan(after.pending)
    assert after.health == {"parts": {"store": {"ok": False}}}


async def _failing() -> dict[str, object]:
    return {"parts": {"store": {"ok": False}}}


async def test_a_part_that_hangs_holds_up_no_scrape(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its state is shown by a later scrape; two scrapes at once share one check."""
    monkeypatch.setattr(pages, "_REPORT_S", 0.05)
    looks, gate = [], asyncio.Event()

    async def slow() -> dict[str, object]:
        looks.append(1)
        await gate.wait()
        return {"lockdown": {"why": "a test"}}

    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    scrape = Scrape(store, slow)
    early = await asyncio.gather(scrape(), scrape())
    gate.set()
    late = await scrape()
    await store.close()

    assert [dict(one.health) for one in early] == [{}, {}]
    assert late.health == {"lockdown": {"why": "a test"}}
    assert len(looks) == 1


class Full:
    """A journal on a full disk."""

    async def append(self, kind: str, record: dict[str, Any]) -> None:
        """Fail as the journal does."""
        raise JournalError("the disk is full")


async def test_a_record_that_could_not_be_written_is_counted() -> None:
    """The failure itself is passed on to the caller."""
    meters = Meters()
    with pytest.raises(JournalError):
        await MeteredJournal(Full(), meters).append("decision", {})

    text = meters.text(Status()).decode()
    assert value(text, "sayso_journal_failures_total") == 1
    assert value(text, "sayso_journal_append_seconds_count") == 0

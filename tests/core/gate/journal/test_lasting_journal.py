"""Record all that is stored, where the journal or the store fails in the middle."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import pytest

from core.errors import JournalError, StoreAway
from core.gate.gate import Gate
from core.gate.journal.ends import expire
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.model.policy import AskFallback
from core.ports import Journal
from core.store.approvals import expire_and_notify
from tests.support.gate import (
    gate_at,
    layer,
    records,
    request,
    says,
    without_journal,
)
from tests.support.store_link import StoreLink
from tests.support.waiting import until

UNROUTED = layer(fallback=AskFallback.FULL)
"""What nobody can be asked about, the ask fallback allows."""


def kinds(home: Path, run_id: str) -> list[object]:
    """Return the kinds of a run's records, in order."""
    return [line["kind"] for line in records(home) if line.get("run") == run_id]


@dataclass
class SlowJournal:
    """A journal whose disk takes records of these kinds once it is ``free``."""

    journal: Journal
    slow: frozenset[str]
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record."""
        if kind in self.slow:
            await self.free.wait()
        await self.journal.append(kind, record)


async def all_runs(gate: Gate) -> list[ApprovalId]:
    """Run what is allowed, once the journal has what is known; return the runs."""
    await until(lambda: not gate.execution.deferred._records)
    queued = await gate.queued()
    for run_id, plan in queued:
        await gate.run_approved(run_id, plan)
    return [run_id for run_id, _ in queued]


async def test_identical_questions_that_the_journal_refuses_are_all_recorded_later(
    tmp_path: Path,
) -> None:
    """One answer ends them; the first record that is refused keeps no other away."""
    async with gate_at(tmp_path) as gate:
        asked = [await gate.submit(request("true", cwd=tmp_path)) for _ in range(3)]
        with without_journal(tmp_path), pytest.raises(JournalError):
            await gate.answer(says(asked[0].run_id, ApprovalReply.ALLOW_ALWAYS))
        assert {one.run_id for one in asked} == set(await all_runs(gate))

    for one in asked:
        assert kinds(tmp_path, one.run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_is_recorded_whole_after_an_outage(
    tmp_path: Path,
) -> None:
    """Its question and its end, both before its start."""
    async with gate_at(tmp_path, UNROUTED, reachable=False) as gate:
        with without_journal(tmp_path), pytest.raises(JournalError):
            await gate.submit(request("true", cwd=tmp_path))
        (run_id,) = await all_runs(gate)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_starts_after_its_records(tmp_path: Path) -> None:
    """Its commit wakes what starts runs while the records are still being written."""
    slow: list[SlowJournal] = []

    def into(journal: Journal) -> Journal:
        slow.append(SlowJournal(journal, frozenset({"ask", "resolve"})))
        return slow[0]

    async with gate_at(tmp_path, UNROUTED, reachable=False, into=into) as gate:
        asking = asyncio.create_task(gate.submit(request("true", cwd=tmp_path)))
        while not (queued := await gate.queued()):
            await asyncio.sleep(0)
        ((run_id, plan),) = queued
        run = asyncio.create_task(gate.run_approved(run_id, plan))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(run), 0.5)
        slow[0].free.set()
        await asyncio.gather(run, asking)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_expired_before_the_store_failed_is_recorded(tmp_path: Path) -> None:
    """Many expire in batches; the one that fails takes no record of the others with it."""
    async with gate_at(tmp_path, timeout_ms=1, over=StoreLink) as gate:
        link = cast("StoreLink", gate.store)
        asked = [await gate.submit(request(f"echo {one}", cwd=tmp_path)) for one in "abc"]
        await asyncio.sleep(0.01)
        link.fails = lambda op: op is expire_and_notify and link.calls[op] > 2
        with pytest.raises(StoreAway):
            await expire(gate.store, gate._lasting, 1)

    ended = [one for one in asked if kinds(tmp_path, one.run_id) == ["ask", "resolve"]]
    assert len(ended) == 2

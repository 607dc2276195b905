"""Record all that is stored, where the journal or the store fails in the middle."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from core.audit.journal import AuditJournal
from core.errors import JournalError, StoreAway
from core.gate import Gate
from core.gate.journal.ends import expire
from core.model.approval import ApprovalReply
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.policy import AskFallback
from core.store.approvals import Expired, expire_and_notify
from core.store.engine.sqlite.store import SqliteStore
from tests.support.gate import gate_at, layer, records, request, says
from tests.support.waiting import until

UNROUTED = layer(fallback=AskFallback.FULL)
"""What nobody can be asked about, the ask fallback allows."""


_Op = Callable[..., object]


def kinds(home: Path, run_id: str) -> list[object]:
    """Return the kinds of a run's records, in order."""
    return [line["kind"] for line in records(home) if line.get("run") == run_id]


async def refused(*_: object) -> None:
    """Fail as a journal on a full disk does."""
    raise JournalError("the disk is full")


async def all_runs(gate: Gate) -> list[ApprovalId]:
    """Run what is allowed, once the journal has what is known; return the runs."""
    await until(lambda: not gate.execution.deferred._records)
    queued = await gate.queued()
    for run_id, plan in queued:
        await gate.run_approved(run_id, plan)
    return [run_id for run_id, _ in queued]


async def test_identical_questions_that_the_journal_refuses_are_all_recorded_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One answer ends them; the first record that is refused keeps no other away."""
    async with gate_at(tmp_path) as gate:
        asked = [await gate.submit(request("true", cwd=tmp_path)) for _ in range(3)]
        with monkeypatch.context() as broken:
            broken.setattr(AuditJournal, "append", refused)
            with pytest.raises(JournalError):
                await gate.answer(says(asked[0].run_id, ApprovalReply.ALLOW_ALWAYS))
        assert {one.run_id for one in asked} == set(await all_runs(gate))

    for one in asked:
        assert kinds(tmp_path, one.run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_is_recorded_whole_after_an_outage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its question and its end, both before its start."""
    async with gate_at(tmp_path, UNROUTED, reachable=False) as gate:
        with monkeypatch.context() as broken:
            broken.setattr(AuditJournal, "append", refused)
            with pytest.raises(JournalError):
                await gate.submit(request("true", cwd=tmp_path))
        (run_id,) = await all_runs(gate)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_starts_after_its_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its commit wakes what starts runs while the records are still being written."""
    append, held = AuditJournal.append, asyncio.Event()

    async def later(journal: AuditJournal, kind: str, record: dict[str, object]) -> None:
        if kind in {"ask", "resolve"}:
            await held.wait()
        await append(journal, kind, record)

    async with gate_at(tmp_path, UNROUTED, reachable=False) as gate:
        monkeypatch.setattr(AuditJournal, "append", later)
        asking = asyncio.create_task(gate.submit(request("true", cwd=tmp_path)))
        while not (queued := await gate.queued()):
            await asyncio.sleep(0)
        ((run_id, plan),) = queued
        run = asyncio.create_task(gate.run_approved(run_id, plan))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(run), 0.5)
        held.set()
        await asyncio.gather(run, asking)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_expired_before_the_store_failed_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many expire in batches; the one that fails takes no record of the others with it."""
    batches = iter([Expired(1, {ApprovalId("a"): DenialReason.APPROVAL_TIMEOUT})])

    async def write(_store: SqliteStore, op: _Op, *_: object) -> object:
        assert op is expire_and_notify
        for batch in batches:
            return batch
        raise StoreAway("it is gone")

    async with gate_at(tmp_path) as gate:
        with monkeypatch.context() as broken:
            broken.setattr("core.gate.journal.ends._EXPIRY_BATCH", 1)
            broken.setattr(SqliteStore, "write", write)
            with pytest.raises(StoreAway):
                await expire(gate.store, gate._lasting)

    assert kinds(tmp_path, "a") == ["resolve"]

"""Record all that is stored, where the journal or the answer to a COMMIT is lost in the middle."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest

from core.audit.journal import AuditJournal
from core.errors import JournalError, StoreAway, StoreError
from core.gate.gate import Gate
from core.gate.journal.ends import expire
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.model.policy import AskFallback
from core.store import approvals
from core.store.approvals import expire_and_notify
from core.store.engine.sqlite.store import SqliteStore
from core.store.runs import runs
from core.store.views import decision
from tests.support.gate import allowed, gate_at, layer, records, request, says
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


def losing(is_lost: Callable[[_Op], bool]) -> Callable[..., Awaitable[object]]:
    """Return a way to write that commits some operations and then fails."""
    write = SqliteStore.write

    async def commit(store: SqliteStore, op: _Op, *args: object) -> object:
        done = await write(store, op, *args)
        if is_lost(op):
            raise StoreAway("The connection broke during a commit.")
        return done

    return commit


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


def _decides(op: _Op) -> bool:
    return isinstance(op, decision.FindAndAnswer)


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_an_answer_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: ApprovalReply
) -> None:
    """Whoever gave it gets the error, may leave, and it counts all the same."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        with monkeypatch.context() as broken:
            broken.setattr(SqliteStore, "write", losing(_decides))
            with pytest.raises(StoreError):
                await gate.answer(says(asked.run_id, reply))
            ((run_id, plan),) = await gate.queued() or ((asked.run_id, None),)
            if plan is not None:
                with pytest.raises(JournalError):
                    await gate.run_approved(run_id, plan)
        await all_runs(gate)

    ran = ["start", "finish"] if reply is ApprovalReply.ALLOW_ONCE else []
    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve", *ran]


async def test_an_answer_that_was_not_stored_is_not_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: its transaction was undone, and the question still waits."""

    async def undone(store: SqliteStore, op: _Op, *args: object) -> object:
        if _decides(op):
            await store.read(op, *args)
        raise StoreAway("The connection broke during a commit.")

    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        with monkeypatch.context() as broken:
            broken.setattr(SqliteStore, "write", undone)
            with pytest.raises(StoreError):
                await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        assert await all_runs(gate) == []

    assert kinds(tmp_path, asked.run_id) == ["ask"]


@pytest.mark.parametrize("reachable", [True, False])
async def test_a_question_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reachable: bool
) -> None:
    """People answer it, or the ask fallback has: what ran has a record of what was asked."""
    lost: set[_Op] = {approvals.create, approvals.settle_unrouted}
    async with gate_at(tmp_path, UNROUTED, reachable=reachable) as gate:
        with monkeypatch.context() as broken:
            broken.setattr(SqliteStore, "write", losing(lost.__contains__))
            with pytest.raises(StoreError):
                await gate.submit(request("true", cwd=tmp_path))
        await until(lambda: not gate.execution.deferred._records)
        for one in await gate.store.read(approvals.pending, 10):
            await gate.answer(says(one.id, ApprovalReply.ALLOW_ONCE))
        (run_id,) = await all_runs(gate)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_a_question_whose_commit_takes_effect_late_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection broke, and the server was still committing: it is looked for again."""
    looks, read = 0, SqliteStore.read

    async def late(store: SqliteStore, op: _Op, *args: object) -> object:
        nonlocal looks
        looks += op is approvals.get
        return None if op is approvals.get and looks <= 2 else await read(store, op, *args)

    async with gate_at(tmp_path) as gate:
        with monkeypatch.context() as broken:
            lost: set[_Op] = {approvals.create}
            broken.setattr(SqliteStore, "write", losing(lost.__contains__))
            broken.setattr(SqliteStore, "read", late)
            with pytest.raises(StoreError):
                await gate.submit(request("true", cwd=tmp_path))
            await until(lambda: not gate.execution.deferred._records)
        (one,) = await gate.store.read(approvals.pending, 10)

    assert kinds(tmp_path, one.id) == ["ask"]


async def test_a_withdrawal_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A question that was cancelled has its end in the journal."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        with monkeypatch.context() as broken:
            lost: set[_Op] = {approvals.cancel}
            broken.setattr(SqliteStore, "write", losing(lost.__contains__))
            with pytest.raises(StoreError):
                await gate.cancel(asked.run_id, "no longer needed")
        await all_runs(gate)

    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve"]


async def test_a_withdrawn_run_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was allowed and had not started; whoever cancelled it got the error."""
    async with gate_at(tmp_path) as gate:
        run_id = await allowed(gate, "true")
        with monkeypatch.context() as broken:
            lost: set[_Op] = {runs.withdraw}
            broken.setattr(SqliteStore, "write", losing(lost.__contains__))
            with pytest.raises(StoreError):
                await gate.cancel(run_id, "no longer needed")
        assert await all_runs(gate) == []

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "refuse"]


async def test_what_expired_before_the_store_failed_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many expire in batches; the one that fails takes no record of the others with it."""
    batches = iter([{ApprovalId("a"): "approval_timeout"}])

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

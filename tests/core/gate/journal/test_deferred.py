"""Keep what the store or the journal cannot take at once; it never blocks a later run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.audit.journal import AuditJournal
from core.errors import JournalError, StoreError
from core.gate.journal import deferred
from core.gate.journal.deferred import Deferred
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import Denied, Finished
from core.store import Store, approvals, open_store
from core.store.runs import outcomes, recovery, runs
from tests.support.gate import gate_at, layer, list_patterns, request
from tests.support.store_records import ALICE, ONCE, draft, finished, run_draft

_PATIENCE_S = 20.0


@dataclass
class Broken:
    """Results that wait: store and journal are closed, so that each write fails."""

    home: Path
    deferred: Deferred
    run_id: ApprovalId
    queued: ApprovalId

    @property
    def files(self) -> list[str]:
        """Return the names of the files with results."""
        return sorted(path.name for path in (self.home / "results").glob("*.json"))

    async def open_store(self) -> Store:
        """Make the store work again."""
        self.deferred.store = await open_store(f"sqlite:///{self.home / 'state.db'}")
        return self.deferred.store

    def open_journal(self) -> AuditJournal:
        """Make the journal work again."""
        journal = self.deferred.journal = AuditJournal(self.home / "audit.jsonl")
        return journal


@pytest.fixture
async def broken(tmp_path: Path) -> AsyncIterator[Broken]:
    """Yield what keeps results over a store with a run and a queued one, then closed."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    run, asked = run_draft(owner="me"), draft()
    await store.write(runs.begin, run)
    await store.write(approvals.create, asked)
    await store.write(approvals.answer, approvals.Ballot(asked.id, ONCE, ALICE, None))
    await store.close()
    journal = AuditJournal(tmp_path / "audit.jsonl")
    journal.close()
    deferred = Deferred(store, journal, tmp_path / "results")
    yield Broken(tmp_path, deferred, run.id, asked.id)
    await deferred.close()
    await deferred.store.close()


async def eventually(probe: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    async with asyncio.timeout(_PATIENCE_S):
        while not probe():
            await asyncio.sleep(0.02)


async def test_a_journal_that_fails_does_not_hold_results_up(broken: Broken) -> None:
    """The store has the result as soon as it can; the record follows when the journal can."""
    kept = broken.deferred
    await kept.append("finish", {"run": broken.run_id})
    await kept.finish(broken.run_id, finished(broken.run_id), "me")
    assert broken.files == [f"{broken.run_id}.json"]
    assert kept.result(broken.run_id) == finished(broken.run_id)

    store = await broken.open_store()
    await eventually(lambda: kept.result(broken.run_id) is None)
    assert await store.read(outcomes.outcome, broken.run_id) == finished(broken.run_id)
    await eventually(lambda: broken.files == [])

    path = broken.home / "audit.jsonl"
    with broken.open_journal():
        await eventually(lambda: broken.run_id in path.read_text())


async def test_a_result_that_no_file_could_take_is_written_later(broken: Broken) -> None:
    """The folder cannot be made at first; it is tried again while the store is away."""
    folder = broken.home / "results"
    folder.write_text("in the way")
    await broken.deferred.finish(broken.run_id, finished(broken.run_id), "me")

    folder.unlink()

    await eventually(lambda: broken.files == [f"{broken.run_id}.json"])


async def test_a_file_that_cannot_be_written_is_told_once(
    broken: Broken, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first attempt says where the result is; quick later attempts say nothing."""
    await in_memory_only(broken, monkeypatch)
    told = [one.getMessage() for one in caplog.records if "in memory only" in one.getMessage()]

    (line,) = told
    assert line.startswith(f"the result of run {broken.run_id} is kept in memory only: ")


async def test_the_end_of_a_disturbance_is_logged_once_nothing_waits(
    broken: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    """Not before the store has the result; and a delivery that did not fail says nothing."""
    caplog.set_level("INFO", logger=deferred.__name__)
    over = "the store and the journal have all results again"
    kept = broken.deferred
    attempts: list[bool] = []

    async def note() -> None:
        attempts.append(True)
        if kept.result(broken.run_id) is not None:
            raise StoreError("away")

    await kept.finish(broken.run_id, finished(broken.run_id), "me")
    delivery = kept._delivery
    assert delivery is not None
    await kept.write(note)
    # The first is ours. A store that opened before the delivery's own would be no disturbance.
    await eventually(lambda: len(attempts) > 1)
    assert over not in caplog.text

    await broken.open_store()
    await asyncio.wait_for(delivery, _PATIENCE_S)

    assert kept.result(broken.run_id) is None
    assert caplog.text.count(over) == 1


async def test_a_delivery_at_the_first_attempt_is_not_logged(
    broken: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    """Nothing was missing for long, so nothing is there again."""
    caplog.set_level("INFO", logger=deferred.__name__)
    tries: list[int] = []

    async def note() -> None:
        tries.append(1)
        if len(tries) == 1:
            raise StoreError("busy")

    await broken.deferred.write(note)
    delivery = broken.deferred._delivery
    assert delivery is not None
    await asyncio.wait_for(delivery, _PATIENCE_S)

    assert len(tries) == 2
    assert "again" not in caplog.text


async def test_a_refusal_that_waits_ends_no_later_start(broken: Broken) -> None:
    """Until the store has it, the run must not be claimed; then it has ended."""
    kept, why = broken.deferred, (DenialReason.PLAN_DRIFT, "x was replaced")
    await kept.end(broken.queued, lambda: kept.store.write(runs.refuse, broken.queued, *why, "me"))
    assert kept.is_in_doubt(broken.queued)

    store = await broken.open_store()
    await eventually(lambda: not kept.is_in_doubt(broken.queued))

    assert await store.read(outcomes.outcome, broken.queued) == Denied(broken.queued, *why)
    assert not await store.write(runs.start, broken.queued, "me")


async def test_a_claim_in_doubt_that_was_not_taken_may_be_made_again(broken: Broken) -> None:
    """A queued run stays queued, and is held back until that is known."""
    kept = broken.deferred
    kept.abandon(broken.queued, "me", "in doubt")
    assert kept.is_in_doubt(broken.queued)

    store = await broken.open_store()
    await eventually(lambda: not kept.is_in_doubt(broken.queued))

    assert await store.write(runs.start, broken.queued, "me")


async def test_a_fault_of_ours_in_one_note_holds_up_no_other(
    broken: Broken, caplog: pytest.LogCaptureFixture
) -> None:
    """It is given up and logged with its place; what waits behind it is written."""
    causes = iter((StoreError("away"), RuntimeError("a fault of ours")))

    async def faulty() -> None:
        raise next(causes)

    await broken.deferred.write(faulty)
    broken.deferred.abandon(broken.run_id, "me", "given up")
    store = await broken.open_store()
    async with asyncio.timeout(_PATIENCE_S):
        while not isinstance(await store.read(outcomes.outcome, broken.run_id), Denied):
            await asyncio.sleep(0.02)

    assert "RuntimeError: a fault of ours" in caplog.text


async def test_what_is_in_doubt_is_not_offered_to_run(tmp_path: Path) -> None:
    """The queue leaves it out until it is settled; the control is the queue before."""
    list_patterns(tmp_path)
    async with gate_at(tmp_path) as gate:
        question = draft()
        await gate.store.write(approvals.create, question)
        await gate.store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
        before = await gate.queued()
        gate.execution.deferred._in_doubt.add(question.id)

        assert [run_id for run_id, _ in before] == [question.id]
        assert await gate.queued() == ()


async def test_a_journal_that_fails_at_the_claim_leaves_no_run_open(tmp_path: Path) -> None:
    """The store took the claim, the journal did not: nothing runs, and the key is free again."""
    anything = layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)
    wish = request(f"touch {tmp_path / 'made'}", cwd=tmp_path, key="k")
    async with gate_at(tmp_path, anything) as gate:
        gate.journal.close()  # type: ignore[attr-defined]  # the real journal
        with pytest.raises(JournalError):
            await gate.submit(wish)
        async with asyncio.timeout(_PATIENCE_S):
            while await gate.store.read(recovery.interrupted, "somebody else", 0):
                await asyncio.sleep(0.02)
    assert not (tmp_path / "made").exists()

    async with gate_at(tmp_path, anything, owner="boot-2") as gate:
        assert isinstance(await gate.submit(wish), Finished)


async def in_memory_only(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a result that neither the store nor a file can take, then make the store work again.

    This is in the middle of the pause before the next attempt.
    """
    (broken.home / "results").write_text("in the way")
    await broken.deferred.finish(broken.run_id, finished(broken.run_id), "me")
    await asyncio.sleep(0.5)
    pauses, own = list[float](), Deferred._rest

    async def rest(kept: Deferred, seconds: float) -> None:
        pauses.append(seconds)
        await own(kept, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(Deferred, "_rest", rest)
        patch.setattr(deferred, "_FIRST_PAUSE_S", 60.0)
        patch.setattr(deferred, "_LONGEST_PAUSE_S", 60.0)
        await eventually(lambda: pauses[-1:] == [60.0])
    await broken.open_store()


async def test_a_stop_delivers_what_only_memory_has(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk works again a moment before the gateway is stopped: nothing is lost."""
    await in_memory_only(broken, monkeypatch)
    await broken.deferred.close()
    store = broken.deferred.store
    assert await store.read(outcomes.outcome, broken.run_id) == finished(broken.run_id)


async def test_a_stop_does_not_wait_for_what_is_in_files(broken: Broken) -> None:
    """The store is away; the next start delivers it, so the delivery ends without being cut off."""
    await broken.deferred.finish(broken.run_id, finished(broken.run_id), "me")
    delivery = broken.deferred._delivery
    assert delivery is not None
    assert broken.files == [f"{broken.run_id}.json"]

    await broken.deferred.close()

    assert not delivery.cancelled()
    assert broken.files == [f"{broken.run_id}.json"]


async def test_a_stop_that_only_cuts_off_loses_it(
    broken: Broken, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the delivery is cancelled in its pause, as it was before."""
    await in_memory_only(broken, monkeypatch)
    delivery = broken.deferred._delivery
    assert delivery is not None
    delivery.cancel()
    assert await broken.deferred.store.read(outcomes.outcome, broken.run_id) is None


async def test_a_file_that_is_written_after_the_delivery_does_not_stay(broken: Broken) -> None:
    """On a slow disk, the store has the result before the file exists."""
    kept = broken.deferred
    await kept.finish(broken.run_id, finished(broken.run_id), "me")
    late = kept._kept[broken.run_id]
    await broken.open_store()
    await eventually(lambda: kept.result(broken.run_id) is None)

    kept._save(broken.run_id, late)

    assert broken.files == []

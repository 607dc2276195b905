"""End a run that is given up in the store, whether it had been taken by then or not."""

import asyncio
from pathlib import Path
from threading import Event

import pytest

from core.audit.journal import AuditJournal
from core.errors import JournalError
from core.gate.claims import NewRun, QueuedRun
from core.model.approval import ApprovalState
from core.model.decision import AllowedBy, DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied
from core.store import approvals, open_store
from core.store.runs import outcomes
from tests.support.store_records import ALICE, ONCE, evaluation, plan, run_draft
from tests.support.stores import OpenStore

NO = DenialReason.SPAWN_FAILED


@pytest.mark.parametrize("taken", [False, True])
async def test_what_policy_allowed_may_be_given_up(
    bench: OpenStore, tmp_path: Path, *, taken: bool
) -> None:
    """Before it was taken nothing is in the store; after it, a row that has started."""
    with AuditJournal(tmp_path / "audit.jsonl") as journal:
        claim = NewRun(bench.store, journal, run_draft(), evaluation())
        if taken:
            assert await claim.take()

        await claim.give_up(NO, "no such program")

    assert await bench.store.read(outcomes.outcome, claim.draft.id) == Denied(
        claim.draft.id, NO, "no such program"
    )
    assert (await claim.basis()).by is AllowedBy.POLICY


async def test_a_claim_that_fails_has_ended_in_the_store(tmp_path: Path) -> None:
    """Otherwise a slow store would write, once the run is given up, that it has started."""
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    with AuditJournal(tmp_path / "audit.jsonl") as journal:
        claim = NewRun(store, journal, run_draft(), evaluation())
    free = Event()
    slow = asyncio.create_task(store.write(lambda _: free.wait(30)))
    taking = asyncio.create_task(claim.take())
    early, _ = await asyncio.wait((taking,), timeout=0.2)
    free.set()
    await slow

    with pytest.raises(JournalError, match="closed"):
        await taking
    assert not early
    await store.close()


async def test_what_people_allowed_is_taken_once_and_may_be_given_up(
    bench: OpenStore, tmp_path: Path
) -> None:
    """By the gateway that took it; a later one takes nothing, and knows who allowed it."""
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    found = await bench.store.read(approvals.get, asked)
    assert found is not None
    assert found.resolution is not None
    assert found.resolution.state is ApprovalState.ALLOWED
    with AuditJournal(tmp_path / "audit.jsonl") as journal:
        first, later = (
            QueuedRun(bench.store, journal, ApprovalId(asked), plan(), owner)
            for owner in ("one", "two")
        )
        taken = (await first.take(), await later.take())
        await later.give_up(NO, "another gateway has it")
        before = await bench.store.read(outcomes.outcome, asked)
        await first.give_up(NO, "no such program")

    assert taken == (True, False)
    assert before is None
    assert await bench.store.read(outcomes.outcome, asked) == Denied(asked, NO, "no such program")
    basis = await first.basis()
    assert (basis.by, basis.people) == (AllowedBy.PEOPLE, (ALICE.ref,))

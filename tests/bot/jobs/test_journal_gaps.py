"""Complete the journal after a gateway that was killed between a commit and its record."""

import json
from pathlib import Path

import pytest

from bot.jobs.journal_gaps import close_gaps
from core.audit.journal import AuditJournal
from core.runner.process_liveness import own_name
from core.store import approvals, open_store
from core.store.engine import replicas
from core.store.runs import runs
from tests.support.store_records import ALICE, ONCE, draft, finished, run_draft


def kinds(path: Path, run_id: str) -> list[str]:
    """Return the kinds of a run's records, in order."""
    lines = map(json.loads, path.read_text().splitlines())
    return [line["kind"] for line in lines if line.get("run") == run_id]


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_what_was_stored_and_not_recorded_is_recorded_once(
    tmp_path: Path, postgres_url: str, engine: str
) -> None:
    """A question, its answer, a withdrawal and the ends of runs; the control: all is there."""
    url = postgres_url if engine == "postgresql" else f"sqlite:///{tmp_path / 'state.db'}"
    store, path = await open_store(url), tmp_path / "audit.jsonl"
    allowed, withdrawn, open_one, done = draft(), draft(), draft(), run_draft(owner="me")
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        for question in (allowed, withdrawn, open_one):
            await store.write(approvals.create, question)
        await store.write(approvals.answer, approvals.Ballot(allowed.id, ONCE, ALICE, None))
        await store.write(runs.withdraw, allowed.id, "cancelled")
        await store.write(approvals.cancel, withdrawn.id, "no longer wanted")
        await store.write(runs.begin, done)
        await store.write(runs.finish, done.id, finished(done.id, 3))

        assert await close_gaps(store, journal, path, "me") == 7
        assert await close_gaps(store, journal, path, "me") == 0

    assert kinds(path, allowed.id) == ["ask", "resolve", "refuse"]
    assert kinds(path, withdrawn.id) == ["ask", "resolve"]
    assert kinds(path, open_one.id) == ["ask"]
    assert kinds(path, done.id) == ["finish"]
    (end,) = (
        line for line in map(json.loads, path.read_text().splitlines()) if line.get("exit_code")
    )
    assert end["exit_code"] == 3
    await store.close()


async def test_what_other_gateways_record_is_left_to_them(
    tmp_path: Path, postgres_url: str
) -> None:
    """They share the store, and each has a journal of its own."""
    store, path = await open_store(postgres_url), tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        await store.write(replicas.heartbeat, "other", replicas.LEASE_MS, own_name())
        await store.write(approvals.create, draft())
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()


async def test_an_empty_journal_has_no_gaps(tmp_path: Path) -> None:
    """Somebody began a new one: what is older is not repeated in it."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    await store.write(approvals.create, draft())
    with AuditJournal(path) as journal:
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()


async def test_what_happened_long_after_the_last_record_is_not_repeated(tmp_path: Path) -> None:
    """Another gateway used the store meanwhile, recorded it, and has ended."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        line = path.read_text()
        path.write_text(line.replace(line.partition('"at":"')[2][:10], "2020-01-01"))
        await store.write(approvals.create, draft())
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

"""Complete the journal after a gateway that was killed between a commit and its record."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.jobs.journal_gaps import close_gaps
from core.audit.journal import AuditJournal
from core.model.approval import ApprovalReply
from core.runner.process_liveness import own_name
from core.store import approvals, open_store
from core.store.engine import replicas
from core.store.engine.clock import wall_ms
from core.store.runs import runs
from tests.support.store_records import ALICE, BOB, ONCE, draft, finished, run_draft
from tests.support.waiting import until


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


async def test_what_waits_to_start_is_recorded_however_long_the_journal_was_away(
    tmp_path: Path,
) -> None:
    """A gateway stopped after an hour with a full disk; what people allowed then starts here."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    allowed, denied = draft(), draft()
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        line = path.read_text()
        path.write_text(line.replace(line.partition('"at":"')[2][:10], "2020-01-01"))
        for question, reply in ((allowed, ONCE), (denied, ApprovalReply.DENY)):
            await store.write(approvals.create, question)
            ballot = approvals.Ballot(question.id, reply, ALICE, None)
            await store.write(approvals.answer, ballot)
        assert await close_gaps(store, journal, path, "me") == 2
    await store.close()

    assert kinds(path, allowed.id) == ["ask", "resolve"]
    assert kinds(path, denied.id) == []


@pytest.mark.parametrize("hours", [-5, 0, 5])
async def test_a_journal_whose_clock_was_set_is_completed(tmp_path: Path, hours: int) -> None:
    """The store's clock goes on as it was; the control: nobody has set one."""
    url, path = f"sqlite:///{tmp_path / 'state.db'}", tmp_path / "audit.jsonl"
    store = await open_store(url, lambda: wall_ms() + hours * 3_600_000)
    question = draft()
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        await store.write(approvals.create, question)
        assert await close_gaps(store, journal, path, "me") == 1
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, question.id) == ["ask"]


async def test_what_a_gateway_began_is_completed_beside_another(
    tmp_path: Path, postgres_url: str
) -> None:
    """It was killed, and another gateway of its store lives: its records are nowhere else."""
    store, path = await open_store(postgres_url), tmp_path / "audit.jsonl"
    own, others, done, foreign = draft(), draft(), run_draft(owner="me"), run_draft(owner="it")
    with AuditJournal(path) as journal:
        await store.write(replicas.heartbeat, "other", replicas.LEASE_MS, own_name())
        await journal.append("ask", {"run": own.id})
        await journal.append("decision", {"run": done.id})
        for question in (own, others):
            await store.write(approvals.create, question)
            ballot = approvals.Ballot(question.id, ONCE, ALICE, None)
            await store.write(approvals.answer, ballot)
        for run in (done, foreign):
            await store.write(runs.begin, run)
            await store.write(runs.finish, run.id, finished(run.id), run.owner)
        assert await close_gaps(store, journal, path, "me") == 2
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, own.id) == ["ask", "resolve"]
    assert kinds(path, done.id) == ["decision", "finish"]
    assert [kinds(path, others.id), kinds(path, foreign.id)] == [[], []]


async def test_what_policy_allowed_and_nobody_claimed_has_an_end(tmp_path: Path) -> None:
    """Its gateway was killed between the record and the row; the controls have an end, or a row."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    lost, over, denied, begun = (run_draft(owner="it") for _ in range(4))
    with AuditJournal(path) as journal:
        for run, decision in ((lost, "allow"), (over, "allow"), (denied, "deny"), (begun, "allow")):
            await journal.append("decision", {"run": run.id, "decision": decision})
        await journal.append("refuse", {"run": over.id})
        await store.write(runs.begin, begun)
        assert await close_gaps(store, journal, path, "me") == 1
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, lost.id) == ["decision", "finish"]
    assert json.loads(path.read_text().splitlines()[-1])["state"] == "unknown"


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_a_vote_that_was_not_recorded_is_recorded_once(
    tmp_path: Path, postgres_url: str, engine: str
) -> None:
    """Not what decided, which its end says; the control: the other question has its record."""
    url = postgres_url if engine == "postgresql" else f"sqlite:///{tmp_path / 'state.db'}"
    store, path = await open_store(url), tmp_path / "audit.jsonl"
    lost, decided, known = (replace(draft(), quorum=2) for _ in range(3))
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        for question in (lost, decided, known):
            await store.write(approvals.create, question)
            await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
        await journal.append("vote", {"run": known.id, "by": ALICE.ref})
        await store.write(approvals.answer, approvals.Ballot(decided.id, ONCE, BOB, None))

        await close_gaps(store, journal, path, "me")
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, lost.id) == ["ask", "vote"]
    assert kinds(path, decided.id) == ["ask", "vote", "resolve"]
    assert kinds(path, known.id) == ["vote", "ask"]
    lines = map(json.loads, path.read_text().splitlines())
    (vote,) = (one for one in lines if one["kind"] == "vote" and one["run"] == lost.id)
    assert (vote["by"], vote["votes"], vote["quorum"]) == (ALICE.ref, [ALICE.ref], 2)


async def test_a_gateway_that_is_killed_while_it_completes_the_journal_hides_nothing(
    tmp_path: Path,
) -> None:
    """It came after an outage of minutes; the next one completes the rest."""
    ahead_ms = -300_000
    url, path = f"sqlite:///{tmp_path / 'state.db'}", tmp_path / "audit.jsonl"
    store = await open_store(url, lambda: wall_ms() + ahead_ms)
    asked = [draft() for _ in range(20)]
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        before = datetime.now(UTC) - timedelta(milliseconds=300_000)
        line = path.read_text()
        path.write_text(
            line.replace(line.partition('"at":"')[2][:19], f"{before:%Y-%m-%dT%H:%M:%S}")
        )
        for question in asked:
            await store.write(approvals.create, question)
        ahead_ms = 0

        first = asyncio.create_task(close_gaps(store, journal, path, "me"))
        await until(lambda: '"ask"' in path.read_text())
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
        assert 0 < await close_gaps(store, journal, path, "me") < len(asked)
    await store.close()

    assert [kinds(path, one.id) for one in asked] == [["ask"]] * len(asked)


@pytest.mark.parametrize(("left", "found"), [(False, 1), (True, 0)])
async def test_what_a_gateway_stored_while_the_journal_was_away_for_hours_is_recorded(
    tmp_path: Path, left: bool, found: int
) -> None:
    """It was killed, or stopped without recording it; the control: it left, as nothing lacked."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        line = path.read_text()
        path.write_text(line.replace(line.partition('"at":"')[2][:10], "2020-01-01"))
        await store.write(replicas.heartbeat, "before", replicas.LEASE_MS)
        await store.write(approvals.create, draft())
        if left:
            await store.write(replicas.leave, "before")
        assert await close_gaps(store, journal, path, "me") == found
    await store.close()


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_what_is_lacking_after_a_power_cut_is_recorded(
    tmp_path: Path, postgres_url: str, engine: str
) -> None:
    """Nothing is proven about a process from before the machine was restarted.

    The one that used the file is gone, though, and so is one that has not beaten since long.
    """
    url = postgres_url if engine == "postgresql" else f"sqlite:///{tmp_path / 'state.db'}"
    store, path = await open_store(url), tmp_path / "audit.jsonl"
    boot, _, rest = own_name().partition(" ")
    before, question = f"{boot[::-1]} {rest}", draft()
    ttl_ms = replicas.LEASE_MS if engine == "sqlite" else -600_000
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        await store.write(replicas.heartbeat, "before", ttl_ms, before)
        await store.write(approvals.create, question)
        assert await close_gaps(store, journal, path, "me") == 1
    await store.close()

    assert kinds(path, question.id) == ["ask"]

"""Complete the journal after a gateway that was killed between a commit and its record."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.jobs.journal_gaps import close_gaps, journal_id
from core.audit.journal import AuditJournal
from core.errors import StateError
from core.model.approval import ApprovalReply
from core.store import approvals, open_store
from core.store.engine.clock import wall_ms
from core.store.runs import recovery, runs
from tests.support.journal_gaps import everything, kinds
from tests.support.store_records import ALICE, BOB, ONCE, draft, finished, run_draft
from tests.support.waiting import until


@pytest.mark.parametrize("engine", ["sqlite", "postgresql"])
async def test_what_was_stored_and_not_recorded_is_recorded_once(
    tmp_path: Path, postgres_url: str, engine: str
) -> None:
    """A question, its answer, a withdrawal and the ends of runs; the control: all is there."""
    url = postgres_url if engine == "postgresql" else f"sqlite:///{tmp_path / 'state.db'}"
    store, path = await open_store(url, journal="me"), tmp_path / "audit.jsonl"
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


async def test_each_gateway_completes_what_it_stored(tmp_path: Path, postgres_url: str) -> None:
    """Two share a database, and were killed before either had recorded anything."""
    stores = {one: await open_store(postgres_url, journal=one) for one in ("me", "it")}
    paths = {one: tmp_path / f"{one}.jsonl" for one in stores}
    stored = {one: await everything(store, one) for one, store in stores.items()}
    for one, store in stores.items():
        with AuditJournal(paths[one]) as journal:
            await journal.append("proof", {})
            assert await close_gaps(store, journal, paths[one], one) == 9
            assert await close_gaps(store, journal, paths[one], one) == 0
        await store.close()

    ends = [["ask", "vote"], ["ask", "resolve"], ["ask", "resolve"], ["ask", "resolve"]]
    for one, (questions, run) in stored.items():
        (other,) = stores.keys() - {one}
        assert [kinds(paths[one], run_id) for run_id in (*questions, run)] == [*ends, ["finish"]]
        assert [kinds(paths[other], run_id) for run_id in (*questions, run)] == [[]] * 5


async def test_an_end_belongs_to_the_gateway_that_stored_it(
    tmp_path: Path, postgres_url: str
) -> None:
    """The other one asked, and had the command run; the votes are those of both."""
    me, it = [await open_store(postgres_url, journal=one) for one in ("me", "it")]
    asked, started = replace(draft(), quorum=2), run_draft(owner="it")
    await it.write(approvals.create, asked)
    await it.write(approvals.answer, approvals.Ballot(asked.id, ONCE, ALICE, None))
    await me.write(approvals.answer, approvals.Ballot(asked.id, ONCE, BOB, None))
    await it.write(runs.begin, started)
    await me.write(recovery.recover_of, "me", ["it"])
    await me.write(runs.withdraw, asked.id, "cancelled")
    for one, store in (("me", me), ("it", it)):
        with AuditJournal(tmp_path / one) as journal:
            await journal.append("proof", {})
            await close_gaps(store, journal, tmp_path / one, one)
        await store.close()

    assert kinds(tmp_path / "me", asked.id) == ["resolve", "refuse"]
    assert kinds(tmp_path / "me", started.id) == ["finish"]
    assert kinds(tmp_path / "it", asked.id) == ["ask", "vote"]
    assert kinds(tmp_path / "it", started.id) == []


async def test_an_empty_journal_has_no_gaps(tmp_path: Path) -> None:
    """Somebody began a new one: what is older is not repeated in it."""
    store, path = (
        await open_store(f"sqlite:///{tmp_path / 'state.db'}", journal="me"),
        tmp_path / "audit.jsonl",
    )
    await store.write(approvals.create, draft())
    with AuditJournal(path) as journal:
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()


@pytest.mark.parametrize(("stored_for", "found"), [("me", 1), ("it", 0), (None, 0)])
async def test_what_was_stored_while_the_journal_was_away_for_hours_is_recorded(
    tmp_path: Path, stored_for: str | None, found: int
) -> None:
    """The controls: another gateway stored it, or an older version, which did not say for whom."""
    url, path = f"sqlite:///{tmp_path / 'state.db'}", tmp_path / "audit.jsonl"
    store = await open_store(url, journal=stored_for)
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        line = path.read_text()
        path.write_text(line.replace(line.partition('"at":"')[2][:10], "2020-01-01"))
        await store.write(approvals.create, draft())
        assert await close_gaps(store, journal, path, "me") == found
    await store.close()


@pytest.mark.parametrize(("stored_for", "found"), [("me", 1), (None, 0)])
async def test_what_waited_while_others_were_written_is_recorded(
    tmp_path: Path, stored_for: str | None, found: int
) -> None:
    """Its COMMIT was in doubt for minutes; the control: an older version stored it, for anybody."""
    ahead_ms = -300_000
    url, path = f"sqlite:///{tmp_path / 'state.db'}", tmp_path / "audit.jsonl"
    store = await open_store(url, lambda: wall_ms() + ahead_ms, journal=stored_for)
    with AuditJournal(path) as journal:
        await store.write(approvals.create, draft())
        ahead_ms = 0
        await journal.append("proof", {})
        assert await close_gaps(store, journal, path, "me") == found
    await store.close()


async def test_what_an_older_version_stored_is_recorded(tmp_path: Path) -> None:
    """It was killed; the new one starts at once."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        questions, run = await everything(store, "before")
        assert await close_gaps(store, journal, path, "me") == 9
    await store.close()

    assert kinds(path, questions[0]) == ["ask", "vote"]
    assert kinds(path, run) == ["finish"]


async def test_what_waits_to_start_is_recorded_however_long_the_journal_was_away(
    tmp_path: Path,
) -> None:
    """An older version stopped after an hour with a full disk; what people allowed starts here."""
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
    store = await open_store(url, lambda: wall_ms() + hours * 3_600_000, journal="me")
    question = draft()
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        await store.write(approvals.create, question)
        assert await close_gaps(store, journal, path, "me") == 1
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, question.id) == ["ask"]


async def test_what_policy_allowed_and_nobody_claimed_has_an_end(tmp_path: Path) -> None:
    """Its gateway was killed between the record and the row; the controls have an end, or a row."""
    store, path = (
        await open_store(f"sqlite:///{tmp_path / 'state.db'}", journal="me"),
        tmp_path / "audit.jsonl",
    )
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
    store, path = await open_store(url, journal="me"), tmp_path / "audit.jsonl"
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
    store = await open_store(url, lambda: wall_ms() + ahead_ms, journal="me")
    asked = [draft() for _ in range(200)]
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


def test_a_journal_keeps_its_id(tmp_path: Path) -> None:
    """Others have other ids; nobody else may read or write the file."""
    mine = journal_id(tmp_path / "audit.jsonl")

    assert mine == journal_id(tmp_path / "audit.jsonl")
    assert mine != journal_id(tmp_path / "other.jsonl")
    assert (tmp_path / "audit.jsonl.id").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "me", "0" * 31, "0" * 33, "0" * 32 + "\n" + "0" * 32])
def test_what_is_no_id_is_refused(tmp_path: Path, text: str) -> None:
    """It is not replaced either: another id would own nothing of what is stored."""
    file = tmp_path / "audit.jsonl.id"
    file.write_text(text)
    file.chmod(0o600)

    with pytest.raises(StateError, match="is not the id of a journal"):
        journal_id(tmp_path / "audit.jsonl")
    assert file.read_text() == text

"""Complete a journal of which a part was moved away, or that was written while no gateway ran."""

from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.jobs.journal_gaps import close_gaps, journal_id
from core.approvals.file.base_hash import RECORD
from core.audit.journal import AuditJournal
from core.store import Store, approvals, open_store
from core.store.engine.clock import wall_ms
from core.store.runs import recovery
from tests.support.journal_gaps import everything, kinds
from tests.support.store_records import ALICE, ONCE, draft

_HOUR_MS = 3_600_000
_Writes = Callable[[AuditJournal], Awaitable[object]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where the journal is."""
    return tmp_path / "audit.jsonl"


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Open the store of the gateway whose journal it is."""
    opened = await open_store(f"sqlite:///{tmp_path / 'state.db'}", journal="me")
    yield opened
    await opened.close()


def set_back(path: Path, milliseconds: int) -> None:
    """Have the only record of a journal say that it was written this long ago."""
    then = datetime.now(UTC) - timedelta(milliseconds=milliseconds)
    line = path.read_text()
    path.write_text(line.replace(line.partition('"at":"')[2][:19], f"{then:%Y-%m-%dT%H:%M:%S}"))


@pytest.mark.parametrize(
    "writes",
    [
        lambda journal: journal.rotate("uid:0"),
        lambda journal: journal.append(RECORD, {"by": "uid:0"}),
    ],
    ids=["sayso audit rotate", "sayso approvals add"],
)
async def test_what_a_command_records_before_the_next_start_hides_nothing(
    tmp_path: Path, path: Path, writes: _Writes
) -> None:
    """The gateway was killed an hour ago; a rotation may also come while it is completed."""
    ahead_ms = 1_000 - _HOUR_MS
    url = f"sqlite:///{tmp_path / 'state.db'}"
    store = await open_store(url, lambda: wall_ms() + ahead_ms, journal="me")
    question = draft()
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        set_back(path, _HOUR_MS)
        await store.write(approvals.create, question)
        ahead_ms = 0
        await writes(journal)
        assert await close_gaps(store, journal, path, "me") == 1
        assert await close_gaps(store, journal, path, "me") == 0
    await store.close()

    assert kinds(path, question.id) == ["ask"]


async def test_what_segments_have_that_were_moved_away_is_not_repeated(
    store: Store, path: Path, tmp_path: Path
) -> None:
    """What is allowed and waits is not asked a second time either; what came since is recorded."""
    waits, lost = draft(), draft()
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        await everything(store, "me")
        await store.write(approvals.create, waits)
        await store.write(approvals.answer, approvals.Ballot(waits.id, ONCE, ALICE, None))
        assert await close_gaps(store, journal, path, "me") == 11
        segment = await journal.rotate("uid:0")
        segment.file.rename(tmp_path / "elsewhere")
        await journal.append("proof", {})
        assert await close_gaps(store, journal, path, "me") == 0
        assert waits.id in await store.read(recovery.unclaimed)
        await store.write(approvals.create, lost)
        assert await close_gaps(store, journal, path, "me") == 1

    assert kinds(path, lost.id) == ["ask"]


async def test_a_segment_that_has_only_begun_is_completed(store: Store, path: Path) -> None:
    """The gateway was killed before it recorded anything else; the rest is elsewhere."""
    with AuditJournal(path) as journal:
        await journal.append("proof", {})
        (await journal.rotate("size")).file.unlink()
        await store.write(approvals.create, draft())
        assert await close_gaps(store, journal, path, "me") == 1


async def test_a_journal_that_begins_repeats_nothing_of_the_one_before(
    tmp_path: Path, path: Path
) -> None:
    """That was moved away as evidence, without its id; the control: it is still there."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    ids, found = list[str](), list[int]()
    for moved in (False, False, True):
        if moved:
            for name in ("audit.jsonl", "audit.jsonl.head"):
                (tmp_path / name).rename(tmp_path / f"evidence-{name}")
        with AuditJournal(path) as journal:
            ids.append(journal_id(path, begins=journal.head.seq == 0))
            store = await open_store(url, journal=ids[-1])
            await journal.append("proof", {})
            found.append(await close_gaps(store, journal, path, ids[-1]))
            if not moved:
                await everything(store, "me")
            await store.close()

    assert ids[0] == ids[1] != ids[2]
    assert found == [0, 9, 0]

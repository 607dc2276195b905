"""Test the SQLite runner: one gateway, a private file, groups of commits, clear errors."""

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from sqlalchemy import Connection

from core.errors import AnotherGateway, BadRequest, StoreError
from core.model.identity import ApprovalId
from core.store import approvals, open_store
from core.store.approvals import idempotency
from core.store.engine.clock import now_ms
from core.store.engine.sqlite.disk_reserve import BALLAST_BYTES
from core.store.engine.sqlite.store import GROUP
from core.store.runs import outcomes, runs
from core.store.schema.tables import SCHEMA_VERSION
from tests.support.gateway_process import ROOT
from tests.support.store_records import draft, new_id, run_draft


def _url(folder: Path) -> str:
    return f"sqlite:///{folder}/state.db"


async def test_every_file_is_private(tmp_path: Path) -> None:
    """Database, log, lock and ballast are 0600, whatever the umask, in a folder of 0700."""
    before = os.umask(0)
    try:
        store = await open_store(f"sqlite:///{tmp_path}/home/state.db")
        await store.write(runs.begin, run_draft())
        files = list((tmp_path / "home").iterdir())
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in files}
    finally:
        os.umask(before)
    await store.close()
    assert {"state.db", "state.db-wal", "state.db.lock", "state.db.ballast"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    assert stat.S_IMODE((tmp_path / "home").stat().st_mode) == 0o700


async def test_a_transaction_takes_no_more_writes_than_a_group(tmp_path: Path) -> None:
    """What waits while one is written is written in groups, so that none waits for all others."""
    store = await open_store(_url(tmp_path))
    go, groups = threading.Event(), list[object]()

    def noted(conn: Connection) -> None:
        groups.append(conn.get_transaction())

    first = asyncio.create_task(store.write(lambda _conn: go.wait(10)))
    others = [asyncio.create_task(store.write(noted)) for _ in range(2 * GROUP + 5)]
    await asyncio.sleep(0.1)
    go.set()
    await asyncio.gather(first, *others)
    await store.close()

    assert len(groups) == 2 * GROUP + 5
    assert max(groups.count(one) for one in groups) <= GROUP


async def test_a_second_gateway_is_refused_by_name(tmp_path: Path) -> None:
    """The message names the process that holds the file; afterwards the first still works."""
    store = await open_store(_url(tmp_path))
    with pytest.raises(AnotherGateway, match=rf"process {os.getpid()}\b.*postgresql"):
        await open_store(_url(tmp_path))
    assert await store.write(runs.begin, run_draft())
    await store.close()
    again = await open_store(_url(tmp_path))
    await again.close()


async def test_a_link_in_the_place_of_the_lock_is_refused(tmp_path: Path) -> None:
    """Its target keeps its content, and the message names the link."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "state.db.lock").symlink_to(victim)

    with pytest.raises(StoreError, match=r"state\.db\.lock is a symbolic link"):
        await open_store(_url(tmp_path))
    assert victim.read_text() == "precious"


async def test_a_link_in_the_place_of_the_ballast_is_replaced(tmp_path: Path) -> None:
    """Its target keeps its content and size."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    ballast = tmp_path / "state.db.ballast"
    ballast.symlink_to(victim)

    await (await open_store(_url(tmp_path))).close()

    assert (victim.read_text(), ballast.is_symlink()) == ("precious", False)
    assert ballast.stat().st_size == BALLAST_BYTES


async def test_a_damaged_header_is_named(tmp_path: Path) -> None:
    """The file is left as it is, and the message says what to do."""
    path = tmp_path / "state.db"
    path.write_bytes(b"this is no database at all\n" * 100)
    with pytest.raises(StoreError, match=r"not a SQLite database.*Restore"):
        await open_store(_url(tmp_path))
    assert path.read_bytes().startswith(b"this is no database")


async def test_a_damaged_page_is_a_store_error(tmp_path: Path) -> None:
    """A corrupt body fails clearly and releases the lock."""
    store = await open_store(_url(tmp_path))
    await store.close()
    path = tmp_path / "state.db"
    path.write_bytes(path.read_bytes()[:4096] + os.urandom(4096 * 40))
    for _ in range(2):
        with pytest.raises(StoreError, match=r"state\.db"):
            await _open_and_ask(tmp_path)


async def test_a_newer_schema_is_not_touched(tmp_path: Path) -> None:
    """A database that a newer Sayso made is refused."""
    await (await open_store(_url(tmp_path))).close()
    with sqlite3.connect(tmp_path / "state.db") as raw:
        raw.execute("UPDATE schema_version SET version_num = '9999'")
    raw.close()
    with pytest.raises(StoreError, match=f"schema 9999, this Sayso knows {SCHEMA_VERSION}"):
        await open_store(_url(tmp_path))


@pytest.mark.parametrize("url", ["mysql://x/y", "state.db", ""])
async def test_an_unknown_url_names_the_setting(url: str) -> None:
    """Only the two engines are understood."""
    with pytest.raises(StoreError, match=r"store\.url"):
        await open_store(url)


async def test_an_unusable_folder_is_named(tmp_path: Path) -> None:
    """A file where the folder should be."""
    (tmp_path / "home").write_text("")
    with pytest.raises(StoreError, match="home cannot be used"):
        await open_store(f"sqlite:///{tmp_path}/home/state.db")


async def test_a_failing_operation_does_not_undo_its_neighbours(tmp_path: Path) -> None:
    """In one group: the bad one fails alone, and leaves nothing."""
    store = await open_store(_url(tmp_path))
    taken = new_id()
    twin = ApprovalId(taken[:6] + new_id()[6:])
    drafts = [draft(taken), draft(twin), *(draft() for _ in range(20))]
    done = await asyncio.gather(
        *(store.write(approvals.create, one) for one in drafts), return_exceptions=True
    )
    kept = [await store.read(approvals.get, one.id) for one in drafts]
    await store.close()
    assert [isinstance(one, approvals.CodeTaken) for one in done] == [False, True] + [False] * 20
    assert [one is None for one in kept] == [False, True] + [False] * 20


async def test_no_result_comes_before_the_commit(tmp_path: Path) -> None:
    """What a caller was told is in the file, read through a separate connection."""
    store = await open_store(_url(tmp_path))
    raw = sqlite3.connect(tmp_path / "state.db")
    for _ in range(20):
        run = run_draft()
        await store.write(runs.begin, run)
        assert raw.execute("SELECT state FROM runs WHERE id = ?", (run.id,)).fetchone()
    raw.close()
    await store.close()


async def test_a_caller_that_gives_up_does_not_undo(tmp_path: Path) -> None:
    """Cancelled while waiting: the operation is done, the store continues."""
    store = await open_store(_url(tmp_path))
    run = run_draft()
    waiting = asyncio.ensure_future(store.write(runs.begin, run))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await store.write(runs.identify, run.id, 1, 1, 1, "b")
    assert not await store.write(runs.begin, run)
    await store.close()


async def test_a_foreign_lock_is_a_store_error_and_passes(tmp_path: Path) -> None:
    """A shell holds a write lock: the write fails clearly, later ones work."""
    store = await open_store(_url(tmp_path))
    await store.write(_impatient)
    raw = sqlite3.connect(tmp_path / "state.db", isolation_level=None)
    raw.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        await store.write(runs.begin, run_draft())
    raw.execute("ROLLBACK")
    raw.close()
    assert await store.write(runs.begin, run_draft())
    await store.close()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    """Closing twice is fine; using it afterwards is a clear error."""
    store = await open_store(_url(tmp_path))
    waiting = asyncio.ensure_future(store.write(runs.begin, run_draft()))
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert await waiting
    for call in (store.write, store.read):
        with pytest.raises(StoreError, match="closed"):
            await call(outcomes.outcome, new_id())


async def test_a_lone_surrogate_is_a_bad_request(tmp_path: Path) -> None:
    """Text that no database can keep fails before anything is recorded."""
    store = await open_store(_url(tmp_path))
    with pytest.raises(BadRequest):
        await store.write(approvals.create, draft(text="ls \udc80"))
    with pytest.raises(BadRequest):
        await store.read(idempotency.by_request_key, "\udc80")
    await store.close()


async def test_reading_cannot_write(tmp_path: Path) -> None:
    """An operation that writes, run by read, fails instead of slipping past the writer."""
    store = await open_store(_url(tmp_path))
    with pytest.raises(StoreError, match="readonly"):
        await store.read(runs.begin, run_draft())
    await store.close()


async def test_a_failing_listener_keeps_no_wake_up_from_the_others(tmp_path: Path) -> None:
    """One subscriber breaks, the next is notified; unsubscribed, it gets no more."""
    store = await open_store(_url(tmp_path))
    heard: list[str] = []
    broken = store.subscribe(_raise)
    stop = store.subscribe(heard.append)
    await store.write(runs.begin, run_draft())
    assert heard
    heard.clear()
    stop()
    broken()
    await store.write(runs.begin, run_draft())
    await store.close()
    assert heard == []


async def _open_and_ask(folder: Path) -> None:
    store = await open_store(_url(folder))
    try:
        await store.write(approvals.create, draft())
    finally:
        await store.close()


def _impatient(conn: Connection) -> None:
    conn.exec_driver_sql("PRAGMA busy_timeout = 20")


def _raise(_words: str) -> None:
    raise ValueError("a broken listener")


@pytest.mark.parametrize("beside", [True, False])
async def test_no_read_waits_for_a_long_one_beside_it(tmp_path: Path, beside: bool) -> None:
    """Nor does another start; the control: with only one reader it waits."""
    store = await open_store(_url(tmp_path))
    going, may_end = threading.Event(), threading.Event()

    def counts(conn: Connection) -> int:
        found = now_ms(conn)
        going.set()
        assert may_end.wait(60)
        return found

    long = store.read_beside if beside else store.read
    counting = asyncio.create_task(long(counts))
    await asyncio.to_thread(going.wait, 60)
    short = asyncio.create_task(store.read(now_ms))
    if beside:
        assert await short >= 0
        assert not counting.done()
    else:
        await asyncio.sleep(0.05)
        assert not short.done()
    may_end.set()
    assert await counting <= await short
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.read_beside(now_ms)


_UNCLOSED = """
import asyncio, sys
from core.store import open_store
from core.store.people import people

async def main():
    store = await open_store(sys.argv[1])
    await store.read(people.listed)
    await store.read_beside(people.listed)
    raise SystemExit(7)

asyncio.run(main())
"""


def test_a_program_that_fails_with_an_open_store_ends(tmp_path: Path) -> None:
    """No thread of the store keeps it, and nobody has to kill it."""
    words = (sys.executable, "-c", _UNCLOSED, _url(tmp_path))
    ran = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)

    assert ran.returncode == 7, ran.stderr

"""Measure the store next to its floor: one raw SQLite insert and commit, in the same run.

One line per figure, with the ratio to the floor, on both engines.
"""

import asyncio
import resource
import sqlite3
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select

from core.model.identity import ApprovalId
from core.store import Store, approvals, open_store, outbox
from core.store.engine.clock import now_ms
from core.store.runs import recovery, runs
from core.store.schema.tables import approvals as approvals_table
from core.store.schema.tables import outbox as outbox_table
from tests.support.store_records import ALICE, HALF_HOUR, ONCE, draft, finished, new_id, run_draft

_ROUNDS = 400
_PENDING = 100_000
_DUE = 10_000


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; ``goal`` in the same unit, ``None`` if there is none."""

    name: str
    value: float
    unit: str
    ratio: float | None = None
    goal: float | None = None

    def __str__(self) -> str:
        ratio = "" if self.ratio is None else f"  {self.ratio:5.1f} x floor"
        goal = "" if self.goal is None else f"  goal {self.goal:g}"
        return f"{self.name:<52} {self.value:9.2f} {self.unit:<4}{ratio}{goal}"


def _floor(folder: Path) -> float:
    """Return the ms of one raw insert and commit, WAL and synchronous FULL, without a thread."""
    raw = sqlite3.connect(folder / "floor.db", isolation_level=None)
    raw.execute("PRAGMA journal_mode = WAL")
    raw.execute("PRAGMA synchronous = FULL")
    raw.execute("CREATE TABLE t (id TEXT PRIMARY KEY, words TEXT)")
    times = []
    for _ in range(_ROUNDS):
        begun = time.perf_counter()
        raw.execute("INSERT INTO t VALUES (?, ?)", (new_id(), "x" * 400))
        times.append(time.perf_counter() - begun)
    raw.close()
    return statistics.median(times) * 1000


async def _median_ms(call: Callable[[], Awaitable[object]], rounds: int = _ROUNDS) -> float:
    times = []
    for number in range(rounds + 20):
        begun = time.perf_counter()
        await call()
        if number >= 20:  # the first ones compile the statements
            times.append(time.perf_counter() - begun)
    return statistics.median(times) * 1000


async def _write_costs(store: Store, engine: str, floor: float) -> list[Figure]:
    begun: list[ApprovalId] = []
    asked: list[ApprovalId] = []

    async def begin() -> None:
        run = run_draft()
        await store.write(runs.begin, run)
        begun.append(run.id)

    async def finish() -> None:
        run_id = begun.pop()
        await store.write(runs.finish, run_id, finished(run_id), "boot-1")

    async def create() -> None:
        question = draft(timeout_ms=HALF_HOUR)
        await store.write(approvals.create, question)
        asked.append(question.id)

    async def answer() -> None:
        one = asked.pop()
        await store.write(approvals.answer, approvals.Ballot(one, ONCE, ALICE, f"in:{one}"))

    figures = []
    for call in (begin, finish, create, answer):
        cost = await _median_ms(call)
        goal = 0.8 if engine == "sqlite" else None
        figures.append(
            Figure(f"{engine}: one {call.__name__}, alone (p50)", cost, "ms", cost / floor, goal)
        )
    return figures


async def _throughput(store: Store, engine: str) -> Figure:
    drafts = [draft(timeout_ms=HALF_HOUR) for _ in range(800)]
    await asyncio.gather(*(store.write(approvals.create, one) for one in drafts))
    begun = time.perf_counter()
    await asyncio.gather(
        *(
            store.write(approvals.answer, approvals.Ballot(one.id, ONCE, ALICE, f"in:{one.id}"))
            for one in drafts
        )
    )
    rate = len(drafts) / (time.perf_counter() - begun)
    goal = 150 if engine == "sqlite" else 80
    return Figure(f"{engine}: decisions a second, all at once", rate, "/s", None, goal)


def _fill(conn: Connection, count: int, spread_ms: int) -> None:
    """Multiply one stored approval to ``count`` pending ones, each with a shown prompt."""
    pattern = dict(conn.execute(select(approvals_table).limit(1)).mappings().one())
    now = now_ms(conn)
    shown = dict(conn.execute(select(outbox_table).limit(1)).mappings().one())
    shown |= {"state": "sent", "message": "m"}
    del shown["id"]
    rows, copies = [], []
    for number in range(count):
        one = new_id()
        deadline = now + spread_ms + number % 1000
        rows.append(
            pattern | {"id": one, "code": one[:12], "state": "pending", "deadline_ms": deadline}
        )
        copies.append(shown | {"approval_id": one, "idem_key": f"prompt:{one}"})
    conn.execute(insert(approvals_table), rows)
    conn.execute(insert(outbox_table), copies)


async def _start_up(folder: Path) -> list[Figure]:
    url = f"sqlite:///{folder}/many.db"
    store = await open_store(url)
    await store.write(approvals.create, draft(timeout_ms=HALF_HOUR))
    await store.write(_fill, _PENDING, 3_600_000)
    await store.close()
    before = _resident_mb()
    begun = time.perf_counter()
    store = await open_store(url)
    await store.write(recovery.recover, "boot-2")
    await store.write(outbox.reconcile)
    await store.read(approvals.next_wake)
    ready = (time.perf_counter() - begun) * 1000
    grown = _resident_mb() - before
    await store.close()
    return [
        Figure(
            "sqlite: open, recover, reconcile, 100,000 pending and shown", ready, "ms", None, 300
        ),
        Figure("sqlite: memory growth of that", grown, "MB", None, 30),
    ]


async def _deadlines(folder: Path) -> Figure:
    store = await open_store(f"sqlite:///{folder}/due.db")
    await store.write(approvals.create, draft(timeout_ms=HALF_HOUR))
    await store.write(_fill, _DUE, 0)
    await asyncio.sleep(1.1)
    begun = time.perf_counter()
    while len(await store.write(approvals.expire_due, 500)) == 500:
        pass
    spent = (time.perf_counter() - begun) * 1000
    await store.close()
    return Figure("sqlite: expire 10,000 due at once, with edits", spent, "ms")


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


async def measure(folder: Path, postgres_url: str | None = None) -> list[Figure]:
    """Return all figures; ``folder`` should be on the disk that matters."""
    floor = _floor(folder)
    figures = [Figure("floor: raw SQLite insert and commit (p50)", floor, "ms", 1.0)]
    for engine, url in (("sqlite", f"sqlite:///{folder}/state.db"), ("postgres", postgres_url)):
        if url is None:
            continue
        store = await open_store(url)
        figures += await _write_costs(store, engine, floor)
        figures.append(await _throughput(store, engine))
        await store.close()
    figures += await _start_up(folder)
    figures.append(await _deadlines(folder))
    return figures


@pytest.mark.deep
@pytest.mark.benchmark
@pytest.mark.timeout(180)
def test_store(tmp_path: Path, postgres_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Print what the store costs on both engines next to a raw commit; none is excessive."""
    figures = asyncio.run(measure(tmp_path, postgres_url))
    with capsys.disabled():
        print("", *figures, sep="\n")
    assert all(one.goal and one.value > one.goal / 4 for one in figures if one.unit == "/s")
    limited = [figure for figure in figures if figure.goal and figure.unit != "/s"]
    assert all(one.goal and one.value < 6 * one.goal for one in limited)

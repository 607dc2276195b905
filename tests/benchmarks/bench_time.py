"""Time what waits: 10,000 deadlines due at once, and a start with 100,000 questions pending."""

import asyncio
import json
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bot.app import gateway
from bot.settings import load
from core.store import approvals, open_store
from tests.support.gateway_process import ROOT, write_config
from tests.support.pace import slowness, words
from tests.support.store_records import draft

DUE = 10_000
LATE_GOAL_MS = 250
PENDING = 100_000
READY_GOAL_MS, GROWTH_GOAL_MB = 300, 30

_COPIES = """
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
INSERT INTO approvals (id, code, state, agent, session, place, text, created_ms, deadline_ms,
                       timeout_ms, delivered_ms, quorum, digest)
SELECT printf('%06d', i) || substr(a.id, 7), printf('%06d', i), a.state, a.agent, a.session,
       a.place, a.text, a.created_ms, ?, a.timeout_ms, a.delivered_ms, a.quorum,
       printf('%064d', i) FROM n, approvals a
"""
_QUESTIONS = """
INSERT INTO questions (id, plan, evaluation, requester, origin, reminders, local)
SELECT a.id, q.plan, q.evaluation, q.requester, q.origin, q.reminders, q.local
FROM approvals a, questions q WHERE a.id NOT IN (SELECT id FROM questions)
"""
_READY = """
import asyncio, json, resource, sys, time
from pathlib import Path
from bot.app import gateway
from bot.settings import load

async def main():
    settings = load(Path(sys.argv[1]), environ={})
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    async with gateway(settings):
        ready = time.perf_counter() - start
        await asyncio.sleep(2.5)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(json.dumps({"ms": ready * 1000, "mb": grown / 1024}))

asyncio.run(main())
"""


async def _home(folder: Path, count: int, deadline_ms: int) -> Path:
    """Make a home with this many pending questions, all due at the same instant."""
    home = folder / f"home-{count}"
    write_config(home, None)
    store = await open_store(f"sqlite:///{home / 'state.db'}")
    await store.write(approvals.create, draft(targets=(), timeout_ms=600_000))
    await store.close()
    with sqlite3.connect(home / "state.db") as connection:
        connection.execute(_COPIES, (count, deadline_ms))
        connection.execute(_QUESTIONS)
    connection.close()
    return home


@pytest.mark.deep
@pytest.mark.benchmark
@pytest.mark.timeout(120)
async def test_deadlines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """10,000 questions whose time ends in the same millisecond end on time, none early."""
    due_ms = round(time.time() * 1000) + 6_000
    home = await _home(tmp_path, DUE, due_ms)
    async with gateway(load(home, environ={})) as running:
        while await running.store.read(approvals.next_wake) in {None, due_ms}:
            await asyncio.sleep(0.25)
            if len(await running.store.read(approvals.pending, 2)) == 1:
                break
    with sqlite3.connect(home / "state.db") as connection:
        rows = connection.execute("SELECT at_ms FROM decisions ORDER BY at_ms").fetchall()
    connection.close()
    late = [at_ms - due_ms for (at_ms,) in rows]
    p50, p99 = late[len(late) // 2], late[int(len(late) * 0.99)]
    slow = slowness()
    with capsys.disabled():
        print(
            f"\n{len(late)} deadlines in one instant: late p50 {p50} ms, p99 {p99} ms, "
            f"max {late[-1]} ms, min {late[0]} ms (goal: p99 <= {LATE_GOAL_MS} ms, none early)"
        )
        print(words(slow))
    assert DUE == len(late)
    assert late[0] >= 0
    assert p99 <= 4 * LATE_GOAL_MS * slow


def _ready(home: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", _READY, str(home)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


@pytest.mark.deep
@pytest.mark.benchmark
@pytest.mark.timeout(120)
async def test_start(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A gateway is ready at once, however much is pending, and keeps none of it in memory."""
    far = round(time.time() * 1000) + 3_600_000
    floor = _ready(await _home(tmp_path, 1, far))
    full = _ready(await _home(tmp_path, PENDING, far))
    with capsys.disabled():
        print(
            f"\nstart with {PENDING} pending: ready in {full['ms']:.0f} ms, grows "
            f"{full['mb']:.1f} MB; with none: {floor['ms']:.0f} ms, {floor['mb']:.1f} MB; ratio "
            f"{full['ms'] / floor['ms']:.2f}x (goal <= {READY_GOAL_MS} ms, {GROWTH_GOAL_MB} MB)"
        )
    assert full["ms"] <= 4 * READY_GOAL_MS * slowness()
    assert full["mb"] <= 2 * GROWTH_GOAL_MB

"""Set the wall clock: deadlines come when they were promised, and running commands keep running."""

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.faults.stepped_gateways import TIMEOUT_S, Ended, faked, round_of, set_clock, stepped
from tests.support.gateway_process import ROOT
from tests.support.pace import slowness
from tests.support.postgres import PostgresServer
from tests.support.runs import marked
from tests.support.waiting import wait_until

HOUR, DAY = 3_600, 86_400
ONE_CYCLE = (HOUR, 0, -DAY, 0)
"""Each step once: an hour forward and back, a day back and forward."""
ROUNDS = 20 if os.environ.get("SAYSO_FULL_CLOCK") == "1" else 1
LATE_S = 2.0
SLACK_S = 0.5

CONTROL = """
import asyncio, sys, time
from pathlib import Path
from apscheduler.schedulers.asyncio import AsyncIOScheduler
from apscheduler.triggers.interval import IntervalTrigger
from bot.jobs.scheduler import Clock
from tests.support.clock_work import Work
from tests.faults.stepped_gateways import set_clock

turns = {"loop": 0, "wall": 0}

async def loop():
    turns["loop"] += 1

async def wall():
    turns["wall"] += 1

async def main():
    scheduler, clock = AsyncIOScheduler(), Clock(Work())
    scheduler.add_job(wall, IntervalTrigger(seconds=0.2))
    scheduler.start()
    clock.start()
    clock.repeat("turns", 0.2, loop)
    while not all(turns.values()):
        await asyncio.sleep(0.05)
    set_clock(Path(sys.argv[1]), -3600)
    while time.time() > before - 1800:
        await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)  # a turn that had begun
    seen = dict(turns)
    while turns["loop"] < seen["loop"] + 10:
        await asyncio.sleep(0.05)
    print("wall stopped" if turns["wall"] <= seen["wall"] + 1 else "wall went on")

before = time.time()
asyncio.run(main())
"""


def _is_gone(run_id: str) -> bool:
    return not marked(run_id)


def judge(found: list[Ended]) -> None:
    """Check that each question ended by its timeout, none early, none more than 2 s late.

    The lateness is read from the store, because this process may be late itself; that the store's
    clock runs as the true one does is checked as well.
    """
    for one in found:
        assert one.answer["state"] == "expired"
        assert one.most_s >= TIMEOUT_S, "a question ended early"
        assert one.late_ms <= LATE_S * 1000 * slowness(), "a deadline was missed"
        assert one.is_as_far_behind(found[0], SLACK_S), "the store's clock was moved"


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("count", [1, pytest.param(2, marks=pytest.mark.deep)])
def test_steps_move_no_deadline_and_end_no_command(
    count: int, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Steps of an hour and a day, forward and back; alone, and as two gateways in turn."""
    url = request.getfixturevalue("postgres_url") if count > 1 else None
    found: list[Ended] = []
    with stepped(tmp_path, [url] * count) as gateways:
        live = [(one, one.run_for_long()) for one in gateways]
        for number, offset in enumerate(ONE_CYCLE * ROUNDS):
            # With two, each goes through the whole cycle, while the other is off by its own steps.
            ended = round_of(gateways, number // len(ONE_CYCLE) % count, offset)
            found += ended
            judge([found[0], *ended])
            for gateway, run_id in live:
                assert gateway.is_running(run_id)
                assert marked(run_id)
        for gateway, run_id in live:
            gateway.call("exec.cancel", id=run_id)
            wait_until("the end", partial(_is_gone, run_id), seconds=30)
    late = max(one.late_ms for one in found)
    print(f"{len(found)} deadlines, {count} gateways: at most {late} ms late")


def test_a_scheduler_on_the_wall_clock_stops(tmp_path: Path) -> None:
    """The control: set an hour back, its jobs stop, while the clock's own continue."""
    offset = tmp_path / "offset"
    set_clock(offset, 0)
    done = subprocess.run(
        [sys.executable, "-c", CONTROL, str(offset)],
        cwd=ROOT,
        env={**os.environ, **faked(offset)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.stdout.strip() == "wall stopped", done.stderr


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.parametrize("step", [-HOUR, HOUR])
def test_a_deadline_outlives_a_restart_and_a_step(step: int, tmp_path: Path) -> None:
    """Set while no gateway runs: for the store, as much time passed as for everything else."""
    with stepped(tmp_path, [None], timeout_s=600) as (gateway,):
        began = time.monotonic()
        first = gateway.request("id")
        asked = time.monotonic()
        gateway.kill()
        set_clock(gateway.offset, step)
        gateway.start()
        again = time.monotonic()
        second = gateway.request("id -u")
        least, most = again - asked, time.monotonic() - began
        passed = (second["deadlineMs"] - first["deadlineMs"]) / 1000
        assert least - 0.1 <= passed <= most + 0.1
        assert gateway.call("exec.approval.get", id=first["id"])["state"] == "pending"


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_missed_heartbeat_ends_no_command(
    tmp_path: Path, postgres_server: PostgresServer, postgres_url: str
) -> None:
    """One of two gateways is frozen past its lease: its command survives, and ends as it should."""
    with stepped(tmp_path, [postgres_url] * 2) as (frozen, other):
        run_id = frozen.run_for_long()
        assert frozen.process is not None
        frozen.process.send_signal(signal.SIGSTOP)
        try:
            lapsed = "SELECT 1 FROM replicas WHERE expires_ms < sayso_now() - 2000"
            wait_until(
                "the lease's end", lambda: postgres_server.run(lapsed, postgres_url), seconds=60
            )
            assert other.is_running(run_id)
            assert marked(run_id)
        finally:
            frozen.process.send_signal(signal.SIGCONT)
        frozen.call("exec.cancel", id=run_id)
        wait_until("the end", lambda: not other.is_running(run_id), seconds=30)
        (row,) = [one for one in other.call("history.list")["history"] if one["id"] == run_id]
        assert row["state"] == "done"


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_gateway_that_is_proven_dead_is_cleared_up_after(
    tmp_path: Path, postgres_url: str
) -> None:
    """The control: the same with a killed gateway, whose runs soon become unknown."""
    with stepped(tmp_path, [postgres_url] * 2) as (dead, other):
        run_id = dead.run_for_long()
        dead.kill()
        wait_until("recovery", lambda: not other.is_running(run_id), seconds=60)
        wait_until("the processes' end", lambda: not marked(run_id), seconds=30)
        (row,) = [one for one in other.call("history.list")["history"] if one["id"] == run_id]
        assert row["state"] == "unknown"

"""Fail the store under load, again and again: every caller and the history have the true ending.

PostgreSQL is stopped as by a crash and started again; SQLite's disk fails with EIO.
``SAYSO_FULL_ENDINGS=1`` does it 50 times with runs of 0.1 to 5 s.
"""

import json
import os
import random
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.faults import gateway_without_drain
from tests.faults.agent_fleet import Fleet, complaints, of_sqlite, summary
from tests.faults.failing_disk import FailingDisk, failing_disk
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.waiting import wait_until

FULL = bool(os.environ.get("SAYSO_FULL_ENDINGS"))
STOPS, FAULTS, LONGEST_S = (50, 10, 5.0) if FULL else (2, 1, 2.0)
AWAY_S, BACK_S = ((0.2, 4.0), (1.0, 4.0)) if FULL else ((0.5, 1.5), (0.5, 1.5))
CALLERS = 12 if FULL else 8
pytestmark = pytest.mark.timeout(1200 if FULL else 300)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a server that the tests may stop."""
    with running_postgres() as running:
        yield running


class OnDisk(GatewayProcess):
    """A gateway whose home is on a disk that can fail."""

    disk: FailingDisk

    def environ(self) -> dict[str, str]:
        """Return the gateway's environment, on that disk."""
        return {**super().environ(), **self.disk.environ()}


def configured(home: Path, url: str | None = None) -> Path:
    """Write settings under which everything runs, and people are asked if a request says so."""
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config["tools"]["exec"] |= {"security": "full", "ask": "off"}
    if url is not None:
        config["store"] = {"url": url}
    (home / "config.json5").write_text(json.dumps(config))
    (home / "exec-approvals.json").unlink()
    return home


def stop_and_start(server: PostgresServer, times: int) -> None:
    """Stop the server as a crash does and start it again, after random moments."""
    draw = random.Random(times)
    for _ in range(times):
        time.sleep(draw.uniform(*BACK_S))
        server.stop_at_once()
        time.sleep(draw.uniform(*AWAY_S))
        server.start()


@pytest.mark.slow
def test_postgres_is_stopped_and_started_under_load(
    tmp_path: Path, server: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is lost, runs twice or hangs, and no one is told a false ending."""
    url = server.create()
    gateway = GatewayProcess(configured(tmp_path / "home", url))
    gateway.start()
    fleet = Fleet(gateway, tmp_path / "work", LONGEST_S)
    try:
        with fleet.asking(CALLERS):
            stop_and_start(server, STOPS)
        found = complaints(fleet, lambda statement: map(dict, server.run(statement, url)))
    finally:
        gateway.stop()

    with capsys.disabled():
        print(f"\n{STOPS} stops of PostgreSQL; {summary(fleet)}; {len(found)} complaints")
    assert found == []
    assert "did not start" not in gateway.log.read_text()


def on_failing_disk(tmp_path: Path, module: str = "bot") -> OnDisk:
    """Start a gateway whose home, with SQLite, journal and results, can fail."""
    home = configured(tmp_path / "home")
    gateway = OnDisk(home, module=module)
    gateway.disk, gateway.log = failing_disk(home, tmp_path), tmp_path / "gateway.log"
    gateway.start()
    return gateway


@pytest.mark.deep
@pytest.mark.parametrize("how", ["all", "sync"])
def test_a_disk_that_fails_for_five_seconds_loses_no_ending(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """SQLite, the journal and the results' files fail together; what ran has its true ending."""
    gateway = on_failing_disk(tmp_path)
    fleet = Fleet(gateway, tmp_path / "work", LONGEST_S)
    try:
        with fleet.asking(CALLERS):
            for _ in range(FAULTS):
                time.sleep(1)
                gateway.disk.fail_for(5 if FULL or how == "all" else 2, how)
            asked = len(fleet.asked)
            wait_until("requests after the fault", lambda: len(fleet.asked) > asked + CALLERS, 60)
        found = complaints(fleet, of_sqlite(gateway.home / "state.db"))
    finally:
        gateway.stop()

    with capsys.disabled():
        print(f"\n{FAULTS} faults ({how}); {summary(fleet)}; {len(found)} complaints")
    assert found == []
    assert sum(one.errors for one in fleet.asked) > 0
    assert "did not start" not in gateway.log.read_text()


@pytest.mark.deep
def test_without_deferred_delivery_endings_are_lost(tmp_path: Path) -> None:
    """The negative control: results are written once, and the judge finds what is missing."""
    gateway = on_failing_disk(tmp_path, "tests.faults.gateway_without_redelivery")
    fleet = Fleet(gateway, tmp_path / "work", longest=1.5, shortest=1.0, patience=6.0)
    try:
        with fleet.asking(CALLERS):
            gateway.disk.fail_for(3)
        found = complaints(fleet, of_sqlite(gateway.home / "state.db"), patience=1.0)
    finally:
        gateway.stop()

    assert any("hanging: started" in words for words in found), found
    assert any("lost: its caller heard nothing" in words for words in found), found


def ending_of_a_stop(tmp_path: Path, module: str, said: str = "") -> str:
    """Make the disk fail while a command ends, and stop the gateway as soon as it works again.

    With ``said``, it is stopped before, and the disk fails until that is in its log. Returns what
    the next gateway says about that run.
    """
    gateway = on_failing_disk(tmp_path, module)
    ran, log = tmp_path / "ran", tmp_path / "gateway.log"
    try:
        with ThreadPoolExecutor(1) as pool:
            caller = pool.submit(heard, gateway, f"sleep 2; echo ran > {ran}")
            started = gateway.home / "audit.jsonl"
            wait_until("a start", lambda: '"decision"' in started.read_text())
            time.sleep(0.5)  # its process is recorded
            with gateway.disk.failing():
                wait_until("the command's end", ran.exists)
                assert caller.result(60)["exitCode"] == 0
                time.sleep(1.5)  # deep in the pause before the next attempt
                if said:
                    assert gateway.process is not None
                    gateway.process.terminate()
                    wait_until(said, lambda: said in log.read_text())
            assert gateway.stop() == 0 or said
        gateway.module = "bot"
        gateway.start()
        (row,) = gateway.json("history")
        return str(row["state"])
    finally:
        gateway.stop()


def heard(gateway: GatewayProcess, line: str) -> dict[str, Any]:
    """Return how a line ended, as its caller is told."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        return client.call("exec.run", {"command": line, "cwd": "/"}, 60)


@pytest.mark.slow
def test_a_stop_right_after_a_fault_loses_no_ending(tmp_path: Path) -> None:
    """What is only in memory is written before the gateway ends."""
    assert ending_of_a_stop(tmp_path, "bot") == "done"


@pytest.mark.deep
def test_a_stop_that_cuts_the_delivery_off_loses_it(tmp_path: Path) -> None:
    """The control: a gateway that stops delivering once it is told to stop."""
    module = gateway_without_drain.__name__
    assert ending_of_a_stop(tmp_path, module, gateway_without_drain.CUT_OFF) == "unknown"

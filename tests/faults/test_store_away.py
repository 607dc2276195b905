"""Stop PostgreSQL under load: one line when it goes, one when it is back, nothing between."""

import json
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from core.errors import StoreError
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.waiting import wait_until

AWAY_S = 6.0
_TALKATIVE = """
import logging, sys
import bot.wiring.logs
bot.wiring.logs._SaidOnce.filter = lambda self, record: True
from bot.cli import main
sys.exit(main(["serve"]))
"""
"""A gateway that leaves nothing out of its log."""


@dataclass
class Talkative(GatewayProcess):
    """The control: a gateway whose every part reports that the database is away."""

    def argv(self) -> list[str]:
        """Return the command by which it is started."""
        return [sys.executable, "-c", _TALKATIVE]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a server that the tests may stop."""
    with running_postgres() as running:
        yield running


@contextmanager
def loaded(gateway: GatewayProcess, server: PostgresServer) -> Iterator[None]:
    """Run a gateway over PostgreSQL that constantly gets requests."""
    write_config(gateway.home, None)
    path = gateway.home / "config.json5"
    config = json.loads(path.read_text())
    config["tools"]["exec"] |= {"security": "full", "ask": "off"}
    config["store"] = {"url": server.create()}
    config["http"] = {"enabled": True, "listen": "127.0.0.1:0"}
    path.write_text(json.dumps(config))
    (gateway.home / "exec-approvals.json").unlink()
    gateway.start()
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            gateway.cli("run", "-c", "sleep 0.2; echo done")

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()
        gateway.stop()


def lines_of_an_outage(gateway: GatewayProcess, server: PostgresServer) -> list[str]:
    """Stop the database for a while, and return what was logged until everything works again."""
    with loaded(gateway, server):
        wait_until("a run", lambda: gateway.json("history"), 30, 0.2)
        before = len(gateway.log.read_text())
        server.stop_at_once()
        try:
            time.sleep(AWAY_S)
        finally:
            server.start()
        wait_until(
            "the database", lambda: "is available again" in gateway.log.read_text()[before:], 60
        )
        assert gateway.cli("run", "-c", "true").returncode == 0
        return gateway.log.read_text()[before:].splitlines()


def about_the_outage(said: list[str]) -> list[str]:
    """Leave out what is not an outage: a busy machine writes slowly, which health reports."""
    slow = " info ", "took a write in", "no write completed within"
    return [line for line in said if not any(words in line for words in slow)]


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_one_line_when_it_goes_and_one_when_it_is_back(
    tmp_path: Path, server: PostgresServer
) -> None:
    """No handler repeats it, no traceback; the second line counts the failures."""
    said = lines_of_an_outage(GatewayProcess(tmp_path / "home"), server)
    about = about_the_outage(said)

    assert len(about) == 2, said
    assert "error core.store.engine.outage: The database is unavailable" in about[0]
    assert "warning core.store.engine.outage: The database is available again after" in about[1]
    assert "operations failed meanwhile" in about[1]


@pytest.mark.deep
@pytest.mark.timeout(180)
def test_without_the_filter_everybody_tells(tmp_path: Path, server: PostgresServer) -> None:
    """The control: the same outage is reported many times over, with tracebacks."""
    said = lines_of_an_outage(Talkative(tmp_path / "home"), server)

    # A quiet machine says it hundreds of times, a busy one tries less often.
    assert len(about_the_outage(said)) > 2, said


@pytest.mark.timeout(180)
def test_who_waits_for_a_decision_waits_on_and_a_stop_is_in_order(
    tmp_path: Path, server: PostgresServer
) -> None:
    """A caller gets a decision made after an outage; another call in between is told of it.

    And a gateway that is stopped while the database is away ends with 0.
    """
    gateway = GatewayProcess(tmp_path / "home")
    write_config(gateway.home, None)
    path = gateway.home / "config.json5"
    path.write_text(json.dumps({**json.loads(path.read_text()), "store": {"url": server.create()}}))
    gateway.start()
    try:
        with ThreadPoolExecutor(1) as pool, Client(str(gateway.home / "gateway.sock")) as client:
            question = client.call("exec.approval.request", {"command": "id", "cwd": "/"}, 60)
            waiter = pool.submit(decision, gateway, str(question["id"]))
            wait_until("a caller that waits", waiter.running)
            time.sleep(0.5)
            server.stop_at_once()
            with pytest.raises(StoreError):
                client.call("exec.approval.list", {}, 60)
            assert not waiter.done()
            server.start()
            answer = gateway.cli("approve", str(question["code"]), "deny", own_session=True)
            assert answer.returncode == 0, answer.stderr
            assert waiter.result(60)["state"] == "denied"
        server.stop_at_once()
        assert gateway.stop() == 0, gateway.log.read_text()[-500:]
    finally:
        server.start()
        if gateway.process is not None and gateway.process.poll() is None:
            gateway.kill()


def decision(gateway: GatewayProcess, approval_id: str) -> dict[str, Any]:
    """Wait until an approval is decided, and return it."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        return client.call("exec.approval.waitDecision", {"id": approval_id}, 120)

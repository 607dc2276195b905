"""Stop PostgreSQL under load: one line when it goes, one when it is back, and nothing between."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.processes import ROOT, GatewayProcess, until, write_config
from tests.postgres import PostgresServer, running_postgres

AWAY_S = 6.0
_TALKATIVE = """
import logging, sys
import bot.logs
bot.logs._SaidOnce.filter = lambda self, record: True
from bot.cli import main
sys.exit(main(["serve"]))
"""
"""A gateway that leaves nothing out of its log."""


@dataclass
class Talkative(GatewayProcess):
    """The control: a gateway whose every part tells that the database is away."""

    def start(self) -> None:
        """Start and wait until the socket answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _TALKATIVE],
                cwd=ROOT,
                env=self.environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        until("the gateway's socket", self._answers, seconds=30)


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a server that the tests may stop."""
    with running_postgres() as running:
        yield running


@contextmanager
def loaded(gateway: GatewayProcess, server: PostgresServer) -> Iterator[None]:
    """Run a gateway over PostgreSQL that is asked to run something all the time."""
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
    """Stop the database for a while, and return what was logged until all works again."""
    with loaded(gateway, server):
        until("a run", lambda: gateway.json("history"), 30, 0.2)
        before = len(gateway.log.read_text())
        server.stop_at_once()
        try:
            time.sleep(AWAY_S)
        finally:
            server.start()
        until("the database", lambda: "works again" in gateway.log.read_text()[before:], 60)
        assert gateway.cli("run", "-c", "true").returncode == 0
        return gateway.log.read_text()[before:].splitlines()


def about_the_outage(said: list[str]) -> list[str]:
    """Leave out what is no outage: a busy machine writes slowly, which health says."""
    slow = " info ", "took a write in", "took no write within"
    return [line for line in said if not any(words in line for words in slow)]


@pytest.mark.timeout(180)
def test_one_line_when_it_goes_and_one_when_it_is_back(
    tmp_path: Path, server: PostgresServer
) -> None:
    """No handler repeats it, no traceback; the second line counts what failed."""
    said = lines_of_an_outage(GatewayProcess(tmp_path / "home"), server)
    about = about_the_outage(said)

    assert len(about) == 2, said
    assert "error core.store.outage: The database is away" in about[0]
    assert "warning core.store.outage: The database works again after" in about[1]
    assert "operations failed meanwhile" in about[1]


@pytest.mark.timeout(180)
def test_without_the_filter_everybody_tells(tmp_path: Path, server: PostgresServer) -> None:
    """The control: the same outage is told many times over, with tracebacks."""
    said = lines_of_an_outage(Talkative(tmp_path / "home"), server)

    # A quiet machine says it hundreds of times, a busy one tries less often.
    assert len(about_the_outage(said)) > 2, said

"""Take the database away while commands run: each ending reaches its caller and the history."""

import json
import re
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.support.gateway_process import GatewayProcess, write_config
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.waiting import wait_until

pytestmark = pytest.mark.timeout(180)
SECONDS = 1.5
LINE = f"sleep {SECONDS}; until [ -e {{}}/go ]; do sleep 0.02; done; echo done; exit 3"
"""A command that ends once a file `go` exists in the gateway's folder."""


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """Yield a server that the tests may stop."""
    with running_postgres() as running:
        yield running


@pytest.fixture
def gateway(tmp_path: Path, server: PostgresServer) -> Iterator[GatewayProcess]:
    """Yield a gateway over PostgreSQL that runs every request."""
    home = tmp_path / "home"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    config["tools"]["exec"] |= {"security": "full", "ask": "off"}
    config["store"] = {"url": server.create()}
    (home / "config.json5").write_text(json.dumps(config))
    (home / "exec-approvals.json").unlink()
    running = GatewayProcess(home)
    running.start()
    yield running
    running.stop()


def history(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return what the history says about each run."""
    found: list[dict[str, Any]] = gateway.json("history")
    return found


def results(gateway: GatewayProcess) -> list[Path]:
    """Return the files with results that the store does not have."""
    return sorted((gateway.home / "results").glob("*.json"))


@contextmanager
def stopped(server: PostgresServer) -> Iterator[None]:
    """Stop the database as a crash does, for as long as the block lasts."""
    server.stop_at_once()
    try:
        yield
    finally:
        server.start()


def ran_without(gateway: GatewayProcess, server: PostgresServer) -> float:
    """Let a command end while the database is away; its caller gets its output and exit code.

    Returns how many seconds it took at most.
    """
    began = time.monotonic()
    asking = gateway.ask("--request-key", "once", "-c", LINE.format(gateway.home))
    wait_until("the command", lambda: "Exec started" in " ".join(gateway.events()))
    server.stop_at_once()
    (gateway.home / "go").touch()
    out, said = asking.communicate(timeout=30)
    took = time.monotonic() - began
    assert (out, asking.returncode) == ("done\n", 3), said
    assert len(results(gateway)) == 1
    return took


def is_finished(how: str, took: float) -> bool:
    """Return whether the history says that the command ended with 3, after its own time."""
    said = re.match(r"finished after ([\d.]+) s, code 3", how)
    return said is not None and SECONDS <= float(said[1]) <= took + 0.1


def test_an_ending_without_a_database_is_delivered_later(
    gateway: GatewayProcess, server: PostgresServer
) -> None:
    """Its caller is told at once, the history once the database is back; the key remains valid."""
    try:
        ran_without(gateway, server)
    finally:
        server.start()

    wait_until("the result's delivery", lambda: not results(gateway), seconds=30)
    (run,) = history(gateway)
    again = gateway.cli("run", "--request-key", "once", "-c", LINE.format(gateway.home))

    assert run["how"].startswith("finished after"), run
    assert "code 3" in run["how"]
    assert (again.returncode, again.stdout) == (3, "done\n")
    finished = [text for text in gateway.events() if "Exec finished" in text]
    assert [("code=3" in text) for text in finished] == [True]
    assert "did not start" not in gateway.log.read_text()


@pytest.mark.parametrize(
    ("kept", "how", "printed"),
    [
        ("file", "finished", "done\n"),
        ("journal", "finished", "sayso: the output was lost"),
        ("nothing", "unknown", ""),
    ],
)
def test_a_gateway_that_is_killed_before_the_delivery_leaves_the_ending(
    gateway: GatewayProcess, server: PostgresServer, kept: str, how: str, printed: str
) -> None:
    """The next start has it from the file, else from the journal; from nowhere in the control."""
    try:
        took = ran_without(gateway, server)
        gateway.kill()
        if kept != "file":
            results(gateway)[0].unlink()
        if kept == "nothing":
            for path in gateway.home.glob("audit.jsonl*"):
                path.unlink()
    finally:
        server.start()

    gateway.start()
    (run,) = history(gateway)
    with Client(str(gateway.home / "gateway.sock")) as client:
        tail = client.call("exec.tail", {"id": run["id"]}, 20)

    assert run["how"].startswith(how), run
    assert is_finished(run["how"], took) is (how == "finished"), run
    assert tail["text"].startswith(printed)
    assert bool(tail["text"]) is bool(printed)
    assert not results(gateway)


def test_an_ending_replaces_what_another_gateway_called_unknown(
    gateway: GatewayProcess, server: PostgresServer
) -> None:
    """The next start finds the ending in its journal, and the history says how it ended."""
    try:
        took = ran_without(gateway, server)
        gateway.kill()
        results(gateway)[0].unlink()
    finally:
        server.start()
    url = json.loads((gateway.home / "config.json5").read_text())["store"]["url"]
    server.run("UPDATE runs SET state = 'unknown', ended_ms = sayso_now()", url)

    gateway.start()

    assert is_finished(history(gateway)[0]["how"], took)


def test_a_waiting_caller_is_not_sent_away(gateway: GatewayProcess, server: PostgresServer) -> None:
    """A client that waits for a run by its id is told its end despite the outage."""
    gateway.ask("--no-wait", "-c", "sleep 3; echo later").communicate(timeout=10)
    run_id = history(gateway)[0]["id"]
    with ThreadPoolExecutor(1) as pool, Client(str(gateway.home / "gateway.sock")) as client:
        waiting = pool.submit(client.call, "exec.wait", {"id": run_id}, 20)
        time.sleep(0.3)
        with stopped(server):
            time.sleep(1.0)
        answer = waiting.result()

    assert (answer["output"], answer["exitCode"]) == ("later\n", 0)


def test_a_question_outlives_the_database_with_its_caller(
    gateway: GatewayProcess, server: PostgresServer
) -> None:
    """A client that waits for people is kept, and is told how the command ended."""
    wish = {
        "command": "echo later; exit 3",
        "cwd": "/",
        "ask": "always",
        "wait": False,
    }
    with ThreadPoolExecutor(1) as pool, Client(str(gateway.home / "gateway.sock")) as client:
        asked = client.call("exec.run", wish, 20)
        waiting = pool.submit(client.call, "exec.wait", {"id": asked["id"]}, 40)
        time.sleep(0.3)
        with stopped(server):
            time.sleep(2.0)
        wait_until("the answer", lambda: _allowed(gateway, asked["id"]), seconds=30)
        answer = waiting.result()

    assert (answer["output"], answer["exitCode"]) == ("later\n", 3)


def _allowed(gateway: GatewayProcess, run_id: str) -> bool:
    return gateway.cli("approve", run_id, "allow-once", own_session=True).returncode == 0

"""Name what a node lacks with `sayso doctor node`, and what a gateway misses."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.doctor.node import examine_node
from bot.health.check import Finding, Verdict
from bot.wiring.nodes import StoredNodes
from core.hosts.node import NodeHost
from core.nodes.listener import listening
from core.nodes.node_file import begin, node_key
from core.store import open_store
from core.trust.identity import key_id, load_key
from tests.support.node_bench import NoRuns


@contextmanager
def gateway(home: Path) -> Iterator[tuple[int, str]]:
    """Listen for nodes in a separate thread; yields port and key."""
    ready, loop = threading.Event(), asyncio.new_event_loop()
    found: list[tuple[int, str]] = []
    stop = asyncio.Event()

    async def serve() -> None:
        store = await open_store(f"sqlite:///{home}/state.db")

        host = NodeHost(load_key(home / "gateway.key"), StoredNodes(store), NoRuns([]))
        async with listening("127.0.0.1", 0, host.key, host.fleet.serve) as port:
            found.append((port, host.fleet.key))
            ready.set()
            await stop.wait()
        await store.close()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    assert ready.wait(20)
    try:
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
        loop.close()


def look(home: Path) -> dict[str, list[Finding]]:
    """Return the findings by their subject."""
    found: dict[str, list[Finding]] = {}
    for one in examine_node({"SAYSO_HOME": str(home)}):
        found.setdefault(one.subject, []).append(one)
    return found


def verdicts(found: dict[str, list[Finding]], subject: str) -> set[Verdict]:
    """Return the verdicts on a subject."""
    return {one.verdict for one in found[subject]}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home of a node, without a gateway yet."""
    made = tmp_path / "node"
    made.mkdir(mode=0o700)
    return made


def test_a_good_node_passes(home: Path, tmp_path: Path) -> None:
    """Files, approvals, gateway, clock and sandbox; nothing is changed at the gateway."""
    with gateway(tmp_path) as (port, key):
        begin(home, "web", f"127.0.0.1:{port}", key)
        (home / "exec-approvals.json").write_text('{"version": 1}')
        (home / "exec-approvals.json").chmod(0o600)
        found = look(home)
    assert not [one for many in found.values() for one in many if not one.ok], found
    assert {"node", "node.key", "node.json", "gateway", "clock", "sandbox"} <= set(found)
    assert "holds the pinned key" in found["gateway"][0].detail
    assert abs(float(found["clock"][0].detail.split()[1])) < 5


def test_what_is_wrong_is_named(home: Path, tmp_path: Path) -> None:
    """No approvals file, a mode that others can read, another key at the other end."""
    other = key_id(load_key(tmp_path / "other.key"))
    with gateway(tmp_path) as (port, _):
        begin(home, "web", f"127.0.0.1:{port}", other)
        (home / "node-runs").mkdir(mode=0o755)
        (home / "node-runs").chmod(0o755)
        found = look(home)
    assert verdicts(found, "exec-approvals.json") == {Verdict.WARN}
    assert verdicts(found, "node-runs") == {Verdict.FAIL}
    assert "chmod 700" in found["node-runs"][0].detail
    assert verdicts(found, "gateway") == {Verdict.FAIL}
    assert "does not hold the gateway's key" in found["gateway"][0].detail


def test_a_gateway_that_is_away_and_a_key_of_another_node(home: Path) -> None:
    """No listener; then node.json is another node's, and nothing is dialled."""
    begin(home, "web", "127.0.0.1:1", "d" * 64)
    found = look(home)
    assert verdicts(found, "gateway") == {Verdict.FAIL}
    assert "cannot be reached" in found["gateway"][0].detail

    (home / "node.key").unlink()
    node_key(home)
    found = look(home)
    assert Verdict.FAIL in verdicts(found, "node.json")
    assert "gateway" not in found


@pytest.mark.parametrize("there", [True, False])
def test_a_sandbox_is_proved_by_a_run_inside(home: Path, tmp_path: Path, *, there: bool) -> None:
    """The enclosure of commands is named; without one, nothing runs on the node."""
    empty = tmp_path / "empty"
    empty.mkdir()
    begin(home, "web", "127.0.0.1:1", "d" * 64)
    more = {} if there else {"tools": {"exec": {"searchPath": [str(empty)]}}}
    (home / "config.json5").write_text(json.dumps({"node": {"sandbox": True}, **more}))
    (home / "config.json5").chmod(0o600)
    (found,) = look(home)["sandbox"]

    assert found.ok is there
    words = "bubblewrap encloses commands" if there else "nothing runs here: no sandbox works"
    assert found.detail.startswith(words)


def test_a_clock_that_is_far_off_is_a_warning(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Orders use the gateway's clock, so it is not a failure."""
    with gateway(tmp_path) as (port, key):
        begin(home, "web", f"127.0.0.1:{port}", key)
        from bot.doctor import node  # noqa: PLC0415 - whose clock is moved

        class Late:
            """A clock that is an hour behind."""

            @staticmethod
            def time() -> float:
                """Return the time of an hour ago."""
                import time  # noqa: PLC0415 - the real one

                return time.time() - 3600

        monkeypatch.setattr(node, "time", Late)
        found = look(home)
    assert verdicts(found, "clock") == {Verdict.WARN}
    assert "is -3600" in found["clock"][0].detail


def test_a_home_that_is_neither_says_so(tmp_path: Path) -> None:
    """Neither a node nor a gateway."""
    (found,) = examine_node({"SAYSO_HOME": str(tmp_path)})
    assert (found.verdict, "sayso node run" in found.detail) == (Verdict.FAIL, True)
    assert json.loads(json.dumps(found.as_json()))["subject"] == "node"

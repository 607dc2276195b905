"""A node that is cut off, and either end that dies: each run once, each ending delivered."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.support.node_process import NodePair, node_pair
from tests.support.waiting import wait_until


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[NodePair]:
    """Yield a gateway and a node that may run everything."""
    with node_pair(tmp_path) as running:
        running.node.approvals(free={"security": "full", "ask": "off"})
        yield running


def _begun(pair: NodePair, mark: Path, seconds: float) -> str:
    """Start a command that says that it runs, waits, and says that it ends; return its id."""
    line = f"sh -c 'echo begun >> {mark}; sleep {seconds}; echo ended >> {mark}; echo out; exit 3'"
    options = ("--host", "node", "--agent", "free", "--cwd", "/", "--no-wait", "--json")
    process = pair.gateway.ask(*options, "-c", line)
    wait_until("the command's start", mark.exists, seconds=20)
    process.kill()
    process.communicate()
    (row,) = (one for one in pair.gateway.json("history") if one["agent"] == "free")
    return str(row["id"])


def _end(pair: NodePair, run_id: str) -> dict[str, Any]:
    """Wait until a run has an end that was seen, and return it."""

    def look() -> dict[str, Any] | None:
        row: dict[str, Any] = pair.gateway.json("show", run_id)
        return row if row["state"] == "done" else None

    found: dict[str, Any] = wait_until("the run's ending", look, seconds=30, pause=0.3)
    return found


def test_a_gateway_that_dies_gets_the_ending_when_it_is_back(
    pair: NodePair, tmp_path: Path
) -> None:
    """`unknown` is what a restart says at first; the node's word replaces it. It ran once."""
    mark = tmp_path / "mark"
    run_id = _begun(pair, mark, 3)
    pair.gateway.kill()
    wait_until("the command's end", lambda: "ended" in mark.read_text(), seconds=20)
    pair.gateway.start()
    end = _end(pair, run_id)

    assert (end["exitCode"], mark.read_text()) == (3, "begun\nended\n")
    finished = [one for one in pair.gateway.events() if f"id={run_id}, code=3" in one]
    assert len(finished) == 1
    kept = pair.node.home / "node-runs" / f"{run_id}.noted.json"
    wait_until("the note", kept.exists, seconds=20)


def test_a_node_that_dies_reports_an_end_that_nobody_saw(pair: NodePair, tmp_path: Path) -> None:
    """Its commands end with it; nothing is run again, and no code is made up."""
    mark = tmp_path / "mark"
    run_id = _begun(pair, mark, 30)
    pair.node.kill()
    pair.node.start()
    end = _end(pair, run_id)

    assert (end["exitCode"], end["signal"]) == (None, None)
    assert mark.read_text() == "begun\n"


def test_a_node_that_slept_delivers_its_ending(pair: NodePair, tmp_path: Path) -> None:
    """The gateway notices that it is gone, says since when, and takes the ending later."""
    mark = tmp_path / "mark"
    run_id = _begun(pair, mark, 2)
    assert pair.node.process is not None
    pair.node.process.send_signal(signal.SIGSTOP)
    try:
        said = wait_until(
            "the loss",
            lambda: _is_said_to_be_away(pair, run_id),
            seconds=45,
            pause=0.5,
        )
    finally:
        pair.node.process.send_signal(signal.SIGCONT)
    assert said
    assert (_end(pair, run_id)["exitCode"], mark.read_text()) == (3, "begun\nended\n")


def _is_said_to_be_away(pair: NodePair, run_id: str) -> bool:
    with Client(str(pair.gateway.home / "gateway.sock")) as client:
        return "node unreachable since" in json.dumps(client.call("exec.tail", {"id": run_id}))

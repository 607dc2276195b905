"""Cut a node off and kill either end: each run happens once, each ending is delivered."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.e2e.running import answered
from tests.support.link_relay import Cut
from tests.support.node_fleet import NodeFleet, node_fleet
from tests.support.node_process import NodePair, node_pair
from tests.support.waiting import wait_until

_NOTICE_S, _LOST_S = 2, 6.0


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[NodePair]:
    """Yield a gateway and a node that may run everything."""
    with node_pair(tmp_path) as running:
        running.node.approvals(free={"security": "full", "ask": "off"})
        yield running


def _begun(pair: NodePair, mark: Path, seconds: float) -> str:
    """Start a command that reports its start, waits, and reports its end; return its id."""
    line = f"sh -c 'echo begun >> {mark}; sleep {seconds}; echo ended >> {mark}; echo out; exit 3'"
    options = ("--host", "node", "--agent", "free", "--cwd", "/", "--no-wait", "--json")
    process = pair.gateway.ask(*options, "-c", line)
    wait_until("the command's start", mark.exists, seconds=20)
    process.kill()
    process.communicate()
    (row,) = (one for one in pair.gateway.json("history") if one["agent"] == "free")
    return str(row["id"])


def _end(pair: NodePair, run_id: str) -> dict[str, Any]:
    """Wait until a run has an end that was delivered, and return it."""

    def look() -> dict[str, Any] | None:
        row: dict[str, Any] = pair.gateway.json("show", run_id)
        return row if row["state"] == "done" else None

    found: dict[str, Any] = wait_until("the run's ending", look, seconds=30, pause=0.3)
    return found


def test_a_gateway_that_dies_gets_the_ending_when_it_is_back(
    pair: NodePair, tmp_path: Path
) -> None:
    """A restart first says `unknown`; the node's report replaces it. It ran once."""
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
    """Its commands end with it; nothing is run again, and no code is invented."""
    mark = tmp_path / "mark"
    run_id = _begun(pair, mark, 30)
    pair.node.kill()
    pair.node.start()
    end = _end(pair, run_id)

    assert (end["exitCode"], end["signal"]) == (None, None)
    assert mark.read_text() == "begun\n"


@pytest.mark.slow
def test_a_node_that_slept_delivers_its_ending(pair: NodePair, tmp_path: Path) -> None:
    """The gateway notices that it is gone, says since when, and takes the ending later."""
    mark = tmp_path / "mark"
    run_id = _begun(pair, mark, 8)
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


def test_a_late_report_of_a_start_says_how_long_it_runs(tmp_path: Path) -> None:
    """S1 `Exec running`, "after the node reports": lost with the link, the report is sent again.

    The order arrives, and what the node says is dropped until the link ends; by then the threshold
    has passed. The control is a shorter run, for which no such report is sent.
    """
    stop = tmp_path / "stop"
    waits = f"sh -c 'until [ -e {stop} ]; do sleep 0.1; done'"
    with node_fleet(tmp_path, 1, noticeAfter=_NOTICE_S) as fleet:
        (node,) = fleet.nodes
        options = ("--host", "node", "--cwd", "/", "--no-wait")
        asked = fleet.gateway.json("run", *options, "--agent", "main", "-c", waits)
        node.relay.cut(Cut.LOST_ENDINGS, seconds=_LOST_S)
        answered(fleet.gateway, "allow-once")
        wait_until("the notice", lambda: len(_said(fleet, asked["id"])) == 2, seconds=60, pause=0.5)
        stop.touch()
        wait_until("the end", lambda: len(_said(fleet, asked["id"])) == 3, seconds=30, pause=0.5)
        of_node = f"(node={node.id}, id={asked['id']}"
        started, running, finished = _said(fleet, asked["id"])
        assert (started, finished) == (
            f"Exec started {of_node})",
            f"Exec finished {of_node}, code=0)",
        )
        seconds = re.fullmatch(re.escape(f"Exec running {of_node}, ") + r"(\d+)s\)", running)
        assert seconds is not None, running
        assert int(seconds[1]) >= _NOTICE_S

        short = fleet.gateway.json("run", *options[:-1], "--agent", "free", "-c", "true")
        assert ["Exec started", "Exec finished"] == [
            text.split(" (")[0] for text in _said(fleet, short["id"])
        ]


def _said(fleet: NodeFleet, run_id: str) -> list[str]:
    return [text.splitlines()[0] for text in fleet.gateway.events() if f"id={run_id}" in text]

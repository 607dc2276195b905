"""Deliver the true ending in hard cases: very much output, wrong clocks, a full disk."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.node_fleet import FleetNode, NodeFleet, node_fleet
from tests.support.node_process import NodeProcess
from tests.support.product_process import BOUND
from tests.support.waiting import wait_until

GIB_2 = 2 << 30


def _run(fleet: NodeFleet, node: FleetNode, *argv: str, seconds: float = 120) -> dict[str, Any]:
    """Run a vector on a node to its end."""
    wish = {"argv": list(argv), "cwd": "/", "agent": "free", "host": "node", "node": node.id}
    return fleet.call("exec.run", wish, timeout=seconds)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_two_gigabytes_of_output_end_as_they_do(tmp_path: Path) -> None:
    """The count is exact, the text is cut, the code is the command's; the node's memory is fine."""
    with node_fleet(tmp_path, 1) as fleet:
        (node,) = fleet.nodes
        script = f"head -c {GIB_2} /dev/zero | tr '\\0' x; echo; echo the end; exit 9"
        result = _run(fleet, node, "/bin/sh", "-c", script, seconds=280)
        pid = node.process.process.pid if node.process.process else 0
        peak = int(Path(f"/proc/{pid}/status").read_text().split("VmHWM:")[1].split()[0])

    assert (result["status"], result["exitCode"], result["truncated"]) == ("finished", 9, True)
    assert result["totalBytes"] == GIB_2 + len("\nthe end\n")
    assert len(result["output"]) <= 200_000
    assert peak < 200_000, f"the node took {peak} KiB"


@pytest.mark.parametrize("offset", ["+1h", "-1h"])
@pytest.mark.timeout(120)
def test_a_node_whose_clock_is_wrong_runs_and_reports(tmp_path: Path, offset: str) -> None:
    """An order's time is the gateway's; the node's own clock never counts, nor after a restart."""
    with node_fleet(tmp_path, 1) as fleet:
        (node,) = fleet.nodes
        node.process.stop()
        _start_at(node.process, offset)
        wait_until("the node", lambda: node.process.log.read_text().count("connected to ") > 1)
        said = _run(fleet, node, "/bin/echo", "here")
        code = _run(fleet, node, "/bin/sh", "-c", "exit 4")["exitCode"]

        records = (node.process.home / "node-audit.jsonl").read_text().splitlines()

    at = datetime.fromisoformat(json.loads(records[-1])["at"])
    assert abs(abs(at.timestamp() - time.time()) - 3_600) < 120, "its clock is wrong"
    assert said["output"] == "here\n", said
    assert code == 4


def _start_at(node: NodeProcess, offset: str) -> None:
    """Start a node whose wall clock is off; its monotonic clock is not."""
    faketime = shutil.which("faketime")
    assert faketime, "this test needs faketime (apt-get install faketime)"
    words = [faketime, "-f", offset, *BOUND, *node.argv("run")]  # faketime passes no signal on
    environ = {**os.environ, "SAYSO_HOME": str(node.home), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
    with node.log.open("ab") as log:
        node.process = subprocess.Popen(
            words,
            env=environ,
            cwd=Path(__file__).parents[2],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )


@contextmanager
def _small_disk(place: Path) -> Iterator[None]:
    """Mount a file system of 2 MiB in a place for as long as the block lasts."""
    place.mkdir(mode=0o700, exist_ok=True)
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert mounted.returncode == 0, f"this test must mount a small disk, as root: {mounted.stderr}"
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=False)


@pytest.mark.timeout(120)
def test_a_full_disk_of_the_node_loses_no_ending(tmp_path: Path) -> None:
    """A run during which the disk fills ends correctly; one that cannot be recorded is not run."""
    with _small_disk(tmp_path / "node0"), node_fleet(tmp_path, 1) as fleet:
        (node,) = fleet.nodes
        filler, mark = node.process.home / "filler", tmp_path / "mark"
        script = f"head -c 4000000 /dev/zero > {filler}; sleep 0.3; echo ran >> {mark}; exit 6"
        during = _run(fleet, node, "/bin/sh", "-c", script)
        while_full = _run(fleet, node, "/bin/sh", "-c", f"echo ran >> {mark}")
        ran_while_full = mark.read_text()
        filler.unlink()
        after = _run(fleet, node, "/bin/sh", "-c", f"echo ran >> {mark}; exit 5")
        events = fleet.gateway.events()

    assert (during["status"], during["exitCode"]) == ("finished", 6), during
    assert ran_while_full == "ran\n"
    assert while_full["status"] == "denied", while_full
    assert after["exitCode"] == 5
    assert mark.read_text() == "ran\nran\n"
    ends = [one for one in events if during["id"] in one and "finished" in one]
    assert len(ends) == 1, json.dumps(events)

"""Cut links between a gateway and its nodes at random moments: nothing twice, nothing lost.

Drops, lost orders, lost endings, delays, half-open links, reconnects that overtake what the old
connection still brings, and both ends killed. ``SAYSO_FULL_CUTS=1`` makes it 1,000 cuts on 12
nodes, 20 minutes at most, instead of 22 on 6.
"""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.node_cuts import CODE, KINDS, Case, Told, Trial, judge, told, unnoted
from tests.support.gateway_process import ROOT
from tests.support.link_relay import Cut
from tests.support.node_fleet import NodeFleet, node_fleet
from tests.support.tables import rows
from tests.support.waiting import wait_until

FULL = bool(os.environ.get("SAYSO_FULL_CUTS"))
CUTS, NODES = (1_000, 12) if FULL else (22, 6)
SEED = 20261124


def _settled(fleet: NodeFleet, trial: Trial) -> list[str]:
    """Wait until the nodes know that everything is stored, stop, and judge."""
    wait_until("the last endings to be noted", lambda: not unnoted(fleet), seconds=60)
    fleet.gateway.stop()
    return judge(trial.cases, trial.mark.read_text(), told(fleet))


@pytest.mark.slow
@pytest.mark.timeout(1_500 if FULL else 240)
def test_no_cut_doubles_or_loses_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 double runs, 0 lost endings, each run exactly one final event."""
    with node_fleet(tmp_path, NODES) as fleet:
        trial = Trial(fleet, tmp_path / "mark", SEED)
        trial.run(CUTS)
        faults = _settled(fleet, trial)

    cut = Counter(case.blow.value for case in trial.cases)
    with capsys.disabled():
        print(f"\nlink cuts: {len(trial.cases)} on {NODES} nodes ({dict(cut)}); faults: {faults}")
    assert [] == faults
    assert CUTS == len(trial.cases)
    assert set(KINDS) == {case.blow for case in trial.cases}


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_node_that_forgets_is_found(tmp_path: Path) -> None:
    """The control: a ledger that knows no run calls what ran not run, and the judge says so."""
    with node_fleet(tmp_path, 3, module="tests.faults.node_that_forgets") as fleet:
        trial = Trial(fleet, tmp_path / "mark", SEED)
        trial.lose_endings()
        fleet.gateway.stop()
        faults = judge(trial.cases, trial.mark.read_text(), told(fleet))

    assert any("it is said not to have run" in fault for fault in faults), faults


@rows(
    "run, mark, fault",
    [
        (Told("r", "done", CODE, 1), "begun t\nbegun t\nended t", "2 times"),
        (Told("r", "done", CODE, 2), "begun t\nended t", "2 final events"),
        (Told("r", "done", CODE, 0), "begun t\nended t", "0 final events"),
        (Told("r", "started", None, 0), "begun t\nended t", "no ending"),
        (Told("r", "unknown", None, 1), "begun t\nended t", "no ending"),
        (Told("r", "failed", None, 1), "begun t\nended t", "said not to have run"),
        (Told("r", "done", CODE, 1), "begun t", "made up"),
        (Told("r", "done", 0, 1), "begun t\nended t", "made up"),
        (Told("r", "done", None, 1), "begun t\nended t", "lost"),
        (Told("r", "done", CODE, 1), "begun t\nended t", ""),
        (Told("r", "failed", None, 1), "", ""),
    ],
)
def test_the_judge_sees_each_fault(run: Told, mark: str, fault: str) -> None:
    """Each lie is found, and correct data is not called one."""
    faults = judge([Case("t", Cut.DROPPED, "n")], mark, {"t": [run]})
    assert any(fault in one for one in faults) if fault else faults == []


def _fail(folder: Path, started: list[subprocess.Popen[bytes]]) -> None:
    """Fail as a test does, while a fleet runs of which one node was killed."""
    with node_fleet(folder, 2) as fleet:
        for one in fleet.processes:
            assert one.process is not None
            started.append(one.process)
        fleet.nodes[0].process.kill()
        raise ZeroDivisionError


@pytest.mark.timeout(120)
def test_a_fleet_whose_test_fails_leaves_nothing(tmp_path: Path) -> None:
    """Whatever the test did to it, each of its processes has ended afterwards."""
    started: list[subprocess.Popen[bytes]] = []
    with pytest.raises(ZeroDivisionError):
        _fail(tmp_path, started)

    assert len(started) == 3
    assert [one for one in started if one.poll() is None] == []


def test_a_node_dies_with_the_tests_that_started_it(tmp_path: Path) -> None:
    """Killing the tests kills their nodes: nothing could stop them any more."""
    code = (
        "import os, sys; from pathlib import Path; from tests.support.node_process import *\n"
        "class Waits(NodeProcess):\n"
        "    def argv(self, *words): return ['sleep', '300']\n"
        "node = Waits(Path(sys.argv[1])); node.start(); print(node.process.pid, flush=True)\n"
        "about = Path(f'/proc/{node.process.pid}/cmdline')\n"
        "while not about.read_bytes().startswith(b'sleep'): pass  # until then it is not bound\n"
        "os.kill(os.getpid(), 9)"
    )
    argv = [sys.executable, "-c", code, str(tmp_path / "node")]
    killed = subprocess.run(argv, cwd=ROOT, stdout=subprocess.PIPE, check=False)

    assert killed.returncode == -signal.SIGKILL
    wait_until("the node to be gone", lambda: not _lives(int(killed.stdout)))


def _lives(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False

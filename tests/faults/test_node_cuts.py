"""Links between a gateway and its nodes are cut at random moments: nothing twice, nothing lost.

Drops, lost orders, lost endings, delays, half-open links, reconnects that overtake what the old
connection still brings, and both ends killed. ``SAYSO_FULL_CUTS=1`` makes it 1,000 cuts on 12
nodes, 20 minutes at most, instead of 22 on 6.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.faults.node_cuts import CODE, KINDS, Case, Told, Trial, judge, told, unnoted
from tests.support.link_relay import Cut
from tests.support.node_fleet import NodeFleet, node_fleet
from tests.support.waiting import wait_until

FULL = bool(os.environ.get("SAYSO_FULL_CUTS"))
CUTS, NODES = (1_000, 12) if FULL else (22, 6)
SEED = 20261124


def _settled(fleet: NodeFleet, trial: Trial) -> list[str]:
    """Wait until the nodes know that everything is stored, stop, and judge."""
    wait_until("the last endings to be noted", lambda: not unnoted(fleet), seconds=60)
    fleet.gateway.stop()
    return judge(trial.cases, trial.mark.read_text(), told(fleet))


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


@pytest.mark.timeout(180)
def test_a_node_that_forgets_is_found(tmp_path: Path) -> None:
    """The control: a ledger that knows no run calls what ran not run, and the judge says so."""
    with node_fleet(tmp_path, 3, module="tests.faults.node_that_forgets") as fleet:
        trial = Trial(fleet, tmp_path / "mark", SEED)
        trial.lose_endings()
        fleet.gateway.stop()
        faults = judge(trial.cases, trial.mark.read_text(), told(fleet))

    assert any("it is said not to have run" in fault for fault in faults), faults


@pytest.mark.parametrize(
    ("run", "mark", "fault"),
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
    """Each lie is found, and what is right is not called one."""
    faults = judge([Case("t", Cut.DROPPED, "n")], mark, {"t": [run]})
    assert any(fault in one for one in faults) if fault else faults == []

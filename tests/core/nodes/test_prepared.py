"""Know the plans that a node made, for longer than any question waits."""

import os
import time
from pathlib import Path

import pytest

from core.errors import StateError
from core.nodes import prepared
from core.nodes.prepared import PreparedPlans

MADE, OTHER = "a" * 64, "b" * 64
DAY_S = 86_400


def test_a_plan_is_known_after_a_restart(tmp_path: Path) -> None:
    """Another one is not."""
    PreparedPlans.of(tmp_path).note(MADE)
    later = PreparedPlans.of(tmp_path)

    assert later.knows(MADE)
    assert not later.knows(OTHER)


@pytest.mark.parametrize(("days", "kept"), [(1, True), (3, False)])
def test_old_plans_are_forgotten(tmp_path: Path, days: int, kept: bool) -> None:
    """At the first plan that a process makes."""
    PreparedPlans.of(tmp_path).note(MADE)
    then = time.time() - days * DAY_S
    os.utime(tmp_path / "node-plans" / MADE, (then, then))
    plans = PreparedPlans.of(tmp_path)
    plans.note(OTHER)

    assert plans.knows(MADE) is kept
    assert plans.knows(OTHER)


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """A file is in its place."""
    (tmp_path / "node-plans").touch()
    with pytest.raises(StateError, match="node-plans"):
        PreparedPlans.of(tmp_path)


def test_no_more_than_so_many_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gateway could use up the disk's files; the latest plans stay."""
    monkeypatch.setattr(prepared, "_MOST", 3)
    monkeypatch.setattr(prepared, "_SWEEP_EVERY", 1)
    plans = PreparedPlans.of(tmp_path)
    for number in range(10):
        plans.note(f"{number:064x}")
        then = time.time() - 100 + number
        os.utime(tmp_path / "node-plans" / f"{number:064x}", (then, then))
    assert [plans.knows(f"{number:064x}") for number in (0, 5, 8, 9)] == [False, False, True, True]
    assert len(list((tmp_path / "node-plans").iterdir())) <= 4

"""Kill sudo, executors, agents and the gateway at random moments of runs and prompts (S2).

With real users, the real sudo and the real setup. After each kill nothing may run as the other
user; at the end each run has had one ending and ran once; and the secrets, the API key and the
session tokens, were in no file, no arguments and no environment. With a cgroup for each executor,
as a service has it (`Delegate=yes`), and without, as a gateway started in a terminal.

``SAYSO_FULL_EXECUTORS=1`` goes through 150 cycles of each instead of 3.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.support.executor_page import DELEGATED, LEAVE, ROOT, as_ann, blocks, followed

FULL = bool(os.environ.get("SAYSO_FULL_EXECUTORS"))
CYCLES = 150 if FULL else 3
SEED = 20261124
PAGE = ROOT / "docs/how-to/executors.md"
NOTHING = ("orphans", "twice", "lost", "waiting", "leaks", "files", "log", "groups")


def went_through(
    tmp_path: Path, cycles: int, plant: str = "", seconds: int = 580, *, contained: bool = True
) -> Any:
    """Run cycles of kills in new namespaces; return the report."""
    setup, user, _doctor, folder, *_ = blocks(PAGE, "sh")
    begin, end = (DELEGATED, LEAVE) if contained else ("", "")
    script = f"""cd /
{begin}for folder in /tmp /var/tmp /var/log; do mount -t tmpfs -o mode=1777 none $folder; done
{as_ann(setup)}{as_ann(user)}{as_ann(folder)}rm /etc/sudoers.d/ann
chown -R ann: /home/ann
/opt/sayso/.venv/bin/python /opt/sayso/tests/faults/executor_kills.py {cycles} {SEED} {plant}
{end}"""
    return json.loads(followed(tmp_path, script, seconds=seconds).splitlines()[-1])


def faults(found: Any) -> dict[str, list[str]]:
    """Return the faults in a report."""
    return {name: found[name] for name in NOTHING if found[name]}


@pytest.mark.slow
@pytest.mark.timeout(3600 if FULL else 600)
@pytest.mark.parametrize(
    "contained",
    [
        pytest.param(True, id="in-cgroups"),
        pytest.param(False, id="without-cgroups", marks=pytest.mark.deep),
    ],
)
def test_kill_9_at_random(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, contained: bool
) -> None:
    """No orphan, no lost ending, no second run, no key in any file, argument or environment."""
    found = went_through(tmp_path, CYCLES, seconds=3500 if FULL else 580, contained=contained)
    with capsys.disabled():
        print(f"\nkill -9 of executors: {json.dumps(found)}")

    assert not faults(found)
    assert (found["contained"] > 0) == contained
    assert found["cycles"] == CYCLES
    assert found["begun"] > CYCLES
    assert found["looks"] > CYCLES
    with_key, asked = found["model"]
    assert with_key == asked > 0
    if FULL:
        assert set(found["kills"]) >= {"started", "executor", "agent", "command", "gateway", "all"}
        assert found["terminated"] > 0
        assert found["withdrawn"] > 0


@pytest.mark.deep
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("plant", "where"),
    [
        ("orphan", "orphans"),
        ("second", "twice"),
        ("leak", "files"),
        ("argv", "leaks"),
        ("question", "waiting"),
        ("group", "groups"),
    ],
)
def test_a_planted_fault_is_found(tmp_path: Path, plant: str, where: str) -> None:
    """The negative controls: each kind of fault, made on purpose, is in the report."""
    found = went_through(tmp_path, 1, plant)

    assert set(faults(found)) == {where}

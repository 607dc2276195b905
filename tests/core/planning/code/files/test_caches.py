"""Know Python's cache of its code; bind it behind a program that raises rights.

The openings of such a program are not answered.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan
from core.planning.code.files.caches import caches_of
from core.planning.planner import Planner
from core.planning.python_modules import tags_of
from core.planning.verify import verify
from tests.support.runs import copy_of, planned, request

KEPT = "__pycache__/tool.cpython-311.pyc"


def sudo(at: Path, mode: int) -> ExecPlan:
    """Return the plan of a command started by a program of some mode."""
    for name in ("sudo", "python3.11"):
        copy_of("true", at / name)
    (at / "sudo").chmod(mode)
    (at / "tool.py").write_text("print(1)\n")
    (at / "__pycache__").mkdir(exist_ok=True)
    argv = ("sudo", "python3.11", "-m", "tool")
    return planned(request(argv=argv, cwd=at), Planner((str(at),)))


@pytest.mark.parametrize("there", [False, True])
def test_it_is_bound_as_it_is(tmp_path: Path, there: bool) -> None:
    """Whether there is one or none."""
    (tmp_path / "__pycache__").mkdir()
    if there:
        (tmp_path / KEPT).write_text("good")
    plan = sudo(tmp_path, 0o4755)
    with verify(plan):
        pass
    (tmp_path / KEPT).write_text("evil")

    assert not any(one.cached for one in plan.commands[0].all_of_it)
    with pytest.raises(PlanDrift, match=r"tool\.cpython-311\.pyc"), verify(plan):
        pass


def test_elsewhere_it_may_change(tmp_path: Path) -> None:
    """The negative control: a program without that mode has its openings answered."""
    plan = sudo(tmp_path, 0o755)
    (tmp_path / KEPT).write_text("other")

    assert any(one.cached for one in plan.commands[0].all_of_it)
    with verify(plan):
        pass


@pytest.mark.parametrize("options", [[], ["-O"], ["-OO"], ["-OOO"], ["-X", "pycache_prefix=kept"]])
def test_real_python_keeps_its_work_there(tmp_path: Path, options: list[str]) -> None:
    """Whichever options it runs with."""
    (tmp_path / "tool.py").write_text("print(1)\n")
    program = os.path.realpath(sys.executable)
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    subprocess.run([program, *options, "-m", "tool"], cwd=tmp_path, env=env, check=True)

    made = {str(path) for path in tmp_path.rglob("tool.*.pyc")}
    known = caches_of([f"{tmp_path}/tool.py"], tags_of(program), options, str(tmp_path))
    assert made
    assert made <= set(known)

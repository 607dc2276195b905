import os
import subprocess
from pathlib import Path

import pytest

from core.runner.environ import base_environment
from core.runner.plan import Planner
from core.runner.process import Runner
from tests.core.runner.runs import planned, request, run, script

PATH = "/usr/bin:/bin"


def test_nothing_of_the_gateway_leaks() -> None:
    """Secrets, loader and shell variables of the gateway stay with the gateway."""
    dangerous = {
        "ANTHROPIC_API_KEY": "s",
        "AWS_SECRET_ACCESS_KEY": "s",
        "LD_PRELOAD": "/x.so",
        "BASH_ENV": "/x",
        "ENV": "/x",
        "PYTHONPATH": "/x",
        "BASH_FUNC_ls%%": "() { id; }",
        "PATH": "/x",
        "SHELL": "/x",
        "SSH_AUTH_SOCK": "/x",
    }

    built = base_environment(PATH, dangerous)

    named = {name for name in built if not name.startswith("GIT_")}
    assert named == {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG"}
    assert built["PATH"] == PATH
    assert built["SHELL"] == "/bin/sh"
    assert built["TERM"] == "dumb"


def git(folder: Path, *words: str) -> None:
    """Run git by itself, in the tests' own environment."""
    subprocess.run(["git", "-C", folder, *words], check=True)


async def test_git_runs_nothing_that_its_repository_names(runner: Runner, tmp_path: Path) -> None:
    """A program in core.fsmonitor is not run by `git status`."""
    hook = script(tmp_path / "hook", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "config", "core.fsmonitor", str(hook))

    done = await run(runner, request("git status --short", cwd=tmp_path))

    assert done.exit_code == 0
    assert not (tmp_path / "ran").exists()
    git(tmp_path, "status", "--short")
    assert (tmp_path / "ran").exists()  # the control: git by itself runs it


def test_home_locale_zone_and_tmpdir_are_kept(tmp_path: Path) -> None:
    """What makes programs behave as their user expects goes along."""
    given = {
        "HOME": "/home/a",
        "LANG": "de_AT.UTF-8",
        "LC_TIME": "C",
        "TZ": "Europe/Vienna",
        "TMPDIR": str(tmp_path),
    }

    assert base_environment(PATH, given).items() >= given.items()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LANG", "../../tmp/evil"),
        ("LC_ALL", "/tmp/evil"),
        ("TZ", "/etc/shadow"),
        ("TZ", ":/etc/shadow"),
        ("TZ", "Europe/../../x"),
        ("HOME", "relative"),
        ("HOME", "/x\udc80"),
        ("TMPDIR", "/no/such/folder"),
        ("TMPDIR", "relative"),
    ],
)
def test_values_that_name_files_are_dropped(name: str, value: str) -> None:
    """A locale or zone that is a path makes libc open that path (CVE-2014-0475)."""
    assert base_environment(PATH, {name: value}).get(name) != value


def test_requested_changes_are_added_and_named() -> None:
    """The plan holds the whole environment, and which names the request set."""
    plan = planned(
        request("true", env=(("B", "2"), ("HOME", "/x"))), Planner(base_env={"HOME": "/home/a"})
    )

    assert dict(plan.env) | {"B": "2", "HOME": "/x"} == dict(plan.env)
    assert plan.requested_env == ("B", "HOME")
    assert list(plan.env) == sorted(plan.env)
    assert "A_SECRET" not in dict(plan.env)


def test_the_base_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A later change of the gateway's environment does not reach its plans."""
    planner = Planner()
    before = planned(request("true"), planner)
    monkeypatch.setenv("HOME", "/elsewhere")
    monkeypatch.setenv("LC_ALL", "C")

    assert planned(request("true"), planner) == before
    assert os.environ["HOME"] == "/elsewhere"

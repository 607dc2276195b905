import os
import pwd
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.model.stdio import Environ
from core.planning.environment import base_environment
from core.planning.planner import Planner
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, refused, request, run, script
from tests.support.tables import rows

PATH = "/usr/bin:/bin"


def test_nothing_of_the_gateway_leaks() -> None:
    """Keep the gateway's secrets, loader and shell variables with the gateway."""
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
    """Run git directly, in the tests' own environment."""
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
    assert (tmp_path / "ran").exists()  # the control: git on its own runs it


def test_home_locale_zone_and_tmpdir_are_kept(tmp_path: Path) -> None:
    """Variables that programs need to behave as their user expects are passed on."""
    given = {
        "HOME": "/home/a",
        "LANG": "de_AT.UTF-8",
        "LC_TIME": "C",
        "TZ": "Europe/Vienna",
        "TMPDIR": str(tmp_path),
    }

    assert base_environment(PATH, given).items() >= given.items()


@rows(
    "name, value",
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


OWNER = pwd.getpwuid(os.getuid()).pw_name
EXEC_TOOL = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "USER": OWNER,
    "TERM": "dumb",
    "SHELL": "/bin/sh",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "core.fsmonitor",
    "GIT_CONFIG_VALUE_0": "false",
    "GIT_CONFIG_GLOBAL": "/dev/null",
}
REMOTE = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/home/a",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}
SURROUNDINGS = {
    "HOME": "/home/a",
    "LANG": "de_AT.UTF-8",
    "LC_ALL": "de_AT.UTF-8",
    "TZ": "Europe/Vienna",
    "TMPDIR": "/tmp",
    "ANTHROPIC_API_KEY": "secret",
}


def tooled(which: Environ, *changes: tuple[str, str]) -> ExecPlan:
    """Return the plan of `env` in one of the fixed environments."""
    planner = Planner(("/usr/local/bin", "/usr/bin", "/bin"), base_env=SURROUNDINGS)
    wish = replace(request(argv=("/usr/bin/env",), env=changes), environ=which)
    return planned(wish, planner)


@pytest.mark.parametrize(
    ("which", "table"), [(Environ.EXEC_TOOL, EXEC_TOOL), (Environ.REMOTE, REMOTE)]
)
async def test_a_hardened_child_sees_its_table_exactly(
    runner: Runner, which: Environ, table: dict[str, str]
) -> None:
    """The kernel's own view: the names of S3 or S4, their values, the run's mark, nothing else."""
    run_id = new_run()

    done = await runner.run(run_id, tooled(which), Start())

    seen = dict(line.split("=", 1) for line in done.output.text.splitlines())
    assert seen == table | {"SAYSO_RUN": run_id}


@pytest.mark.parametrize(
    ("which", "table"), [(Environ.EXEC_TOOL, EXEC_TOOL), (Environ.REMOTE, REMOTE)]
)
def test_changes_are_merged_on_top(which: Environ, table: dict[str, str]) -> None:
    """A caller may widen PATH (S3 section 3), and what it did is named for the approver."""
    plan = tooled(which, ("PATH", "/opt/bin"), ("FOO", "bar"))

    assert dict(plan.env) == table | {"PATH": "/opt/bin", "FOO": "bar"}
    assert plan.requested_env == ("PATH", "FOO")
    assert plan.digest != tooled(which).digest


@pytest.mark.parametrize("which", [Environ.EXEC_TOOL, Environ.REMOTE])
def test_a_hardened_tool_takes_no_line(which: Environ) -> None:
    """There, HOME is not the gateway's, so no `~` may be read by it."""
    refusal = refused(replace(request("ls ~"), environ=which))

    assert refusal.reason is DenialReason.BAD_REQUEST

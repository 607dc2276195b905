"""Run redirections and ``cd`` as a shell would, and only as they were approved."""

import asyncio
import shutil
from asyncio.subprocess import PIPE, STDOUT
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import ExecPlan
from core.model.decision import DenialReason
from core.planning.digest import digest_of
from core.planning.planner import Planner
from core.runner.runner import Runner
from tests.support.runs import (
    POLICY,
    Start,
    new_run,
    planned,
    refused,
    request,
    run,
    script,
)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with a program that says something on both streams."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "inner.txt").write_text("inner\n")
    script(tmp_path / "both", "#!/bin/sh\necho out\necho err >&2\n")
    return tmp_path


@pytest.mark.parametrize(
    "line",
    [
        *("./both", "./both 2>&1", "./both >/dev/null", "./both 2>/dev/null"),
        *("./both >/dev/null 2>&1", "./both 2>&1 >/dev/null", "./both 2>&1 | tr a-z A-Z"),
        *("./both | tr a-z A-Z", "./both 2>&1 >/dev/null | tr a-z A-Z", "cat </dev/null && ./both"),
        *("./both 2>/dev/null | cat </dev/null", "echo x | cat </dev/null; ./both 2>&1"),
        *("cd sub && cat *.txt && ../both 2>/dev/null", "cd sub; pwd", "cat sub/*; cd sub; cat *"),
        *("# first\ncat sub/* # it's\n\n./both\n", "cd sub && cat inner.txt\npwd"),
    ],
)
async def test_a_line_prints_what_bash_prints(line: str, runner: Runner, work: Path) -> None:
    """What reaches the output is what reaches a terminal when bash runs the line."""
    plan = planned(request(line, cwd=work))
    assert plan.unreadable is None
    done = await runner.run(new_run(), plan, Start())
    shell = await asyncio.create_subprocess_exec(
        "bash", "-c", line, cwd=work, stdout=PIPE, stderr=STDOUT
    )
    printed, _ = await shell.communicate()
    # Members of a pipeline write to one terminal in no fixed order.
    assert sorted(done.output.text.splitlines()) == sorted(printed.decode().splitlines())
    assert done.exit_code == shell.returncode


async def test_both_streams_are_discarded(runner: Runner, work: Path) -> None:
    """``&>`` is bash's word for both, whatever other shells make of it."""
    done = await run(runner, request("./both &>/dev/null; echo end", cwd=work))
    assert done.output.text == "end\n"


async def test_a_folder_that_was_replaced_is_denied(runner: Runner, work: Path) -> None:
    """Nothing starts where the name of an approved folder leads to another one."""
    plan = planned(request("touch made && cd sub && ls", cwd=work))
    (work / "sub").rename(work / "old")
    (work / "sub").mkdir()
    with pytest.raises(PlanDrift, match="not the one"):
        await runner.run(new_run(), plan, Start())
    assert not (work / "made").exists()


async def test_a_folder_that_is_gone_is_denied(runner: Runner, work: Path) -> None:
    """A ``cd`` that would fail denies the line before anything of it runs."""
    plan = planned(request("touch made && cd sub && ls", cwd=work))
    shutil.rmtree(work / "sub")
    with pytest.raises(PlanDrift, match="can no longer be opened"):
        await runner.run(new_run(), plan, Start())
    assert not (work / "made").exists()


async def test_a_folder_that_the_line_itself_replaced_stops_it(runner: Runner, work: Path) -> None:
    """An earlier command may move a folder; the next one does not start in a place not shown."""
    done = await run(runner, request("mv sub old && cd sub && touch made", cwd=work))
    assert "the working directory" in done.output.text
    assert done.exit_code == 126
    assert not (work / "old" / "made").exists()


async def test_what_was_bound_runs_whatever_a_glob_would_find_now(
    runner: Runner, work: Path
) -> None:
    """The words of the plan run, not those that the folder contains by then."""
    plan = planned(request("echo sub/*", cwd=work))
    (work / "sub" / "another.txt").touch()
    done = await runner.run(new_run(), plan, Start())
    assert done.output.text == "sub/inner.txt\n"


def test_expansions_are_part_of_the_digest(work: Path) -> None:
    """Another match, another folder or another routing is another plan."""
    lines = ("echo sub/*", "cd sub; echo sub/*", "echo sub/* 2>&1", "echo sub/* >/dev/null")
    (work / "sub" / "sub").mkdir()
    (work / "sub" / "sub" / "inner.txt").touch()
    plans = [planned(request(line, cwd=work)) for line in lines]
    (work / "sub" / "second").touch()
    plans.append(planned(request(lines[0], cwd=work)))
    assert len({plan.digest for plan in plans}) == len(plans)
    assert [digest_of(plan) for plan in plans] == [plan.digest for plan in plans]


def test_each_command_is_bound_in_its_own_folder(work: Path) -> None:
    """Relative programs and scripts are looked up where their command will run."""
    script(work / "sub" / "tool", "#!/bin/sh\n")
    plan = planned(request("true; cd sub && ./tool | cat", cwd=work))
    first, tool, cat = plan.commands
    assert first.cwd is None
    assert tool.cwd == cat.cwd
    assert tool.cwd is not None
    assert tool.cwd.path == str(work / "sub")
    assert tool.executable is not None
    assert tool.executable.path == str(work / "sub" / "tool")


def test_what_a_wrapper_starts_stands_in_its_folder(work: Path) -> None:
    """A wrapper's inner program is looked up where ``cd`` led, too."""
    script(work / "sub" / "tool", "#!/bin/sh\n")
    (wrapper,) = planned(request("cd sub && nice ./tool", cwd=work)).commands
    (tool,) = wrapper.effective
    assert wrapper.inner
    assert tool.cwd == wrapper.cwd
    assert tool.executable is not None
    assert tool.executable.path == str(work / "sub" / "tool")


def test_a_line_that_begins_in_no_folder_is_refused(work: Path) -> None:
    """No one is asked because of a folder that does not exist."""
    refusal = refused(request("cd none && ls", cwd=work))
    assert refusal.reason is DenialReason.BAD_CWD
    assert "none" in refusal.why


def test_the_words_of_a_vector_are_never_expanded(work: Path) -> None:
    """What was requested as a vector stays as it is, a ``cd`` in it is a program's name."""
    plan = planned(request(argv=("cd", "*"), cwd=work))
    assert plan.commands[0].argv == ("cd", "*")
    assert plan.commands[0].executable is None


@pytest.mark.parametrize("name", ["HOME", "PWD", "OLDPWD", "CDPATH"])
@pytest.mark.parametrize("line", ["ls ~", "cd sub && ls", "ls sub/*"])
def test_a_request_cannot_give_expansions_another_meaning(name: str, line: str, work: Path) -> None:
    """If the request sets what a shell would look at, a person is asked."""
    plan = Planner().plan(request(line, cwd=work, env=((name, "/"),)), POLICY)
    assert isinstance(plan, ExecPlan)
    assert plan.unreadable is not None
    assert plan.unreadable.rule == "R12"

"""Ask about a git command that obeys what its own line may change."""

import os
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.planning.digest import bind
from core.runner.runner import Runner
from tests.support.git_repositories import git, repository, with_hooks
from tests.support.runs import Start, new_run, planned, request


def unsettled(line: str, place: Path) -> list[bool]:
    """Return for each command whether an earlier one may change what it obeys."""
    return [bool(one.unsettled) for one in planned(request(line, cwd=place)).commands]


@pytest.mark.parametrize(
    "line",
    [
        "cp evil .git/config && git diff",
        "cp h .git/hooks/post-index-change; git status",
        "cp h ./.git/../.git/hooks/pre-commit && git commit -m x",
        "mv evil .git && git log",
        "ln -s x .git && git log",
        "tee .git/config && git log",
        "cp h .husky/_/pre-commit && git commit -m x",
        "cp --target-directory=.git/hooks pre-commit && git commit -m x",
        "touch HEAD && git status",
        "cp x sub/.git && git status",
        "git config core.pager x && git log",
        "git config --file .git/config core.pager x && git log",
    ],
)
def test_a_command_that_may_change_what_git_obeys_is_seen(line: str, tmp_path: Path) -> None:
    """By an operand that names it, or by a subcommand that writes it."""
    assert unsettled(line, with_hooks(tmp_path / "place")) == [False, True]


@pytest.mark.parametrize(
    "line",
    [
        "cat .git/config && git diff",
        "git diff && cp evil .git/config",
        "cp a b && git diff",
        "cp x .gitignore && git status",
        "git checkout HEAD && git status",
        "git add a && git status",
        "git config --get user.name && git status",
        "touch a && ls .git/config",
        "cp evil .git/config && ls a",
    ],
)
def test_what_only_reads_or_concerns_other_files_is_not(line: str, tmp_path: Path) -> None:
    """Nothing is asked without need."""
    assert unsettled(line, with_hooks(tmp_path / "place")) == [False, False]


def test_inside_a_shell_it_is_seen_too(tmp_path: Path) -> None:
    """The commands of `sh -c` follow one another like those of a line."""
    place = repository(tmp_path / "place")
    plan = planned(request(argv=("sh", "-c", "cp evil .git/config; git diff"), cwd=place))

    assert plan.commands[0].unsettled != ""


async def test_what_was_approved_to_change_may_change(runner: Runner, tmp_path: Path) -> None:
    """The line runs to its end if a person approved it; without the clause it is drift."""
    place = repository(tmp_path / "place")
    git(place, "config", "--file", str(tmp_path / "evil"), "diff.external", "/bin/echo")
    line = f"cp {tmp_path}/evil .git/config && git diff"
    plan = planned(request(line, cwd=place))
    done = await runner.run(new_run(), plan, Start())

    assert done.exit_code == 0
    os.utime(place / "a")
    assert "diff.external" in planned(request("git diff", cwd=place)).commands[0].steered
    assert bind(plan).digest == plan.digest
    with pytest.raises(PlanDrift):
        await runner.run(new_run(), plan, Start())

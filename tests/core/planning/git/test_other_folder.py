"""Read ``git -C FOLDER`` as ``cd FOLDER && git``, where it only reads."""

from pathlib import Path

import pytest

from core.model.command import PlannedCommand
from core.planning.planner import Planner
from core.runner.runner import Runner
from tests.support.git_repositories import git, repository
from tests.support.runs import planned, request, run, script


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with a repository, a folder below that, and a link to it."""
    (repository(tmp_path / "web") / "deep").mkdir()
    (tmp_path / "link").symlink_to("web")
    return tmp_path


def only(line: str, work: Path) -> PlannedCommand:
    """Plan a line of one command."""
    (command,) = planned(request(line, cwd=work)).commands
    return command


@pytest.mark.parametrize(
    ("line", "argv"),
    [
        ("git -C web status", ("git", "status")),
        ("git --no-pager -C web log --oneline", ("git", "--no-pager", "log", "--oneline")),
        ("git -C ./web/ diff -C -C", ("git", "diff", "-C", "-C")),
        ("git -C web/deep/.. log -3", ("git", "log", "-3")),
        ("git -C link status", ("git", "status")),
        ("/usr/bin/git -C web status", ("/usr/bin/git", "status")),
    ],
)
def test_a_reading_moves_into_the_folder(line: str, argv: tuple[str, ...], work: Path) -> None:
    """It is the same command as after ``cd``, so that every rule sees it there."""
    command = only(line, work)

    assert command.argv == argv
    assert command.cwd is not None
    assert command.cwd.path == str((work / "web").resolve())


def test_it_is_the_plan_of_cd(work: Path) -> None:
    """A line and a vector become what ``cd`` and the line without the option become."""
    wanted = planned(request("cd web && git log -1", cwd=work)).commands

    assert planned(request("git -C web log -1", cwd=work)).commands == wanted
    assert planned(request(argv=("git", "-C", "web", "log", "-1"), cwd=work)).commands == wanted
    assert planned(request(f"git -C {work}/web log -1", cwd="/")).commands == wanted


@pytest.mark.parametrize(
    "line",
    [
        "git -C web push",
        "git -C web commit -m x",
        "git -C web -c core.pager=x log",
        "git -c -C web log",
        "git --git-dir -C web status",
        "git -C web -C deep status",
        "git -Cweb status",
        "git -C '' status",
        "git -C missing status",
        "git -C a status",
        "git -C //web status",
        "git -C link/.. status",
        "git -C",
        "git status -C web",
        "git log -C web",
    ],
)
def test_all_else_keeps_its_words(line: str, work: Path) -> None:
    """What a person is asked about runs as written, and what is not certain is no folder."""
    (work / "a").touch()
    command = only(line, work)

    assert command.cwd is None
    assert "-C" in command.argv or "-Cweb" in command.argv


def test_a_wrapper_keeps_the_words_of_what_it_runs(work: Path) -> None:
    """It runs them itself, in its own folder."""
    command = only("timeout 9 git -C web status", work)

    assert [one.argv for one in command.inner] == [("git", "-C", "web", "status")]


def test_another_git_keeps_its_words(work: Path) -> None:
    """A program of that name may mean anything by ``-C``."""
    (work / "bin").mkdir()
    other = script(work / "bin/git", "#!/bin/sh\n")

    (command,) = planned(
        request("git -C web status", cwd=work), Planner((str(other.parent),))
    ).commands

    assert command.argv == ("git", "-C", "web", "status")


def test_an_unknown_status_keeps_the_words(work: Path) -> None:
    """The places of ``$?`` are of the words as they were written."""
    command = planned(request("ls; git -C web log --grep=$?", cwd=work)).commands[-1]

    assert command.cwd is None


async def test_it_prints_what_git_prints(work: Path, runner: Runner) -> None:
    """The run answers as git with the option does."""
    done = await run(runner, request("git -C web rev-parse --show-toplevel", cwd=work))

    assert done.output.text.split() == [str((work / "web").resolve())]


def test_a_repository_there_that_starts_a_program_is_seen(work: Path) -> None:
    """What steers git in the folder is found as after ``cd``."""
    git(work / "web", "config", "diff.external", "/bin/echo")

    assert "diff.external" in only("git -C web diff", work).steered

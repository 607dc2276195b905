"""What a program would obey besides its arguments is switched off in its environment."""

from pathlib import Path

import pytest

from core.model.command import PinnedFile
from core.policy.neutral import When, everywhere, neutral_environment, rows_of
from core.runner.process import Runner
from tests.core.runner.runs import planned, request, run
from tests.core.runner.test_repository import git, repository

GIT = PinnedFile("/usr/bin/git", "/usr/bin/git", 1, 1, 1, "")


def of_git(line: str) -> dict[str, str]:
    """Return what is set for a git command beyond the environment of every child."""
    return dict(neutral_environment(tuple(line.split()), GIT))


def test_a_reading_gets_all_rows() -> None:
    """Settings are numbered, and those of every child are among them."""
    found = of_git("git status")

    count = int(found["GIT_CONFIG_COUNT"])
    settings = {found[f"GIT_CONFIG_KEY_{n}"]: found[f"GIT_CONFIG_VALUE_{n}"] for n in range(count)}
    assert settings["core.hooksPath"] == "/dev/null"
    assert settings["core.fsmonitor"] == "false"


@pytest.mark.parametrize("line", ["git commit -m x", "git add .", "git push", "git -c a.b=c log"])
def test_what_a_person_may_approve_keeps_its_configuration(line: str) -> None:
    """Hooks and editors of the user work where the line is not known to be harmless."""
    assert of_git(line) == {}


def test_every_row_says_what_it_covers() -> None:
    """A row without a reason cannot be loaded, and `everywhere` rows are in each child's base."""
    rows = rows_of("git", "/usr/bin/git", "/usr/bin/git")

    assert all(row.covers for row in rows)
    names = {name for name, _ in everywhere()}
    assert {row.name for row in rows if row.when is When.EVERYWHERE and not row.is_setting} <= names


async def test_it_reaches_the_child_of_a_reading_alone(runner: Runner, tmp_path: Path) -> None:
    """`git config --get` shows the value that its command got, and no other command gets it."""
    place = repository(tmp_path / "place")
    line = "git config --get core.hooksPath && printenv GIT_CONFIG_COUNT"

    done = await run(runner, request(line, cwd=place))

    assert done.output.text == "/dev/null\n1\n"


async def test_a_request_cannot_overrule_it(runner: Runner, tmp_path: Path) -> None:
    """What is set for a command comes after what a request sets, whatever was approved."""
    place = repository(tmp_path / "place")
    changed = (("GIT_CONFIG_COUNT", "0"),)

    done = await run(runner, request("git config --get core.hooksPath", cwd=place, env=changed))

    assert done.output.text == "/dev/null\n"


async def test_a_wrapper_passes_it_on(runner: Runner, tmp_path: Path) -> None:
    """What is set for the inner command is set for the wrapper, which hands it down."""
    place = repository(tmp_path / "place")
    git(place, "commit", "-qam", "second")
    line = "timeout 9 git --no-pager config --get core.hooksPath"

    done = await run(runner, request(line, cwd=place))

    assert done.output.text == "/dev/null\n"


def test_a_reading_beside_a_writer_in_one_shell_keeps_nothing(tmp_path: Path) -> None:
    """Both share one environment, and the writer's hooks must run."""
    place = repository(tmp_path / "place")

    plan = planned(request(argv=("sh", "-c", "git commit -m x && git diff"), cwd=place))
    alone = planned(request(argv=("sh", "-c", "git diff && cat a"), cwd=place))

    assert [one.neutral for one in (plan.commands[0], *plan.commands[0].inner)] == [(), (), ()]
    assert alone.commands[0].neutral == alone.commands[0].inner[0].neutral != ()

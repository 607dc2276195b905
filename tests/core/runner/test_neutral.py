"""What a program would obey besides its arguments is switched off in its environment."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import PinnedFile
from core.policy.neutral import When, everywhere, neutral_environment, rows_of
from core.runner.binding import bind
from core.runner.process import Runner
from core.runner.repository import steering
from tests.core.runner.runs import Watcher, new_run, planned, request, run, script
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


def hooked(tmp_path: Path) -> Path:
    """Make a repository with a hook that `git diff` runs, which leaves a file."""
    place = repository(tmp_path / "place")
    git(place, "commit", "-qam", "second")
    script(place / ".git/hooks/post-index-change", f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    os.utime(place / "a", (1, 1))
    return place


def ran(tmp_path: Path) -> bool:
    """Tell whether the hook ran, and let a control follow that makes it run."""
    found = (tmp_path / "ran").exists()
    os.utime(tmp_path / "place/a", (2, 2))
    git(tmp_path / "place", "diff")
    assert (tmp_path / "ran").exists()
    return found


async def test_it_reaches_the_child_of_a_reading_alone(runner: Runner, tmp_path: Path) -> None:
    """The repository's hook does not run; another command of the line gets the base alone."""
    line = "git diff && printenv GIT_CONFIG_COUNT"

    done = await run(runner, request(line, cwd=hooked(tmp_path)))

    assert (done.output.text, ran(tmp_path)) == ("1\n", False)


async def test_a_request_cannot_overrule_it(runner: Runner, tmp_path: Path) -> None:
    """What is set for a command comes after what a request sets, whatever was approved."""
    changed = (("GIT_CONFIG_COUNT", "0"),)

    await run(runner, request("git diff", cwd=hooked(tmp_path), env=changed))

    assert not ran(tmp_path)


async def test_a_wrapper_passes_it_on(runner: Runner, tmp_path: Path) -> None:
    """What is set for the inner command is set for the wrapper, which hands it down."""
    await run(runner, request("timeout 9 git --no-pager diff", cwd=hooked(tmp_path)))

    assert not ran(tmp_path)


async def test_a_change_of_it_is_no_longer_what_was_approved(
    runner: Runner, tmp_path: Path
) -> None:
    """It is part of the digest."""
    place = hooked(tmp_path)
    plan = planned(request("git diff", cwd=place))
    command = replace(plan.commands[0], neutral=())
    command = replace(command, steered=steering(command, str(place)))
    bare = replace(plan, commands=(command,))

    with pytest.raises(PlanDrift, match="digest"):
        await runner.run(new_run(), bare, Watcher())
    await runner.run(new_run(), bind(bare), Watcher())
    assert (tmp_path / "ran").exists()  # the control: without it the hook runs


def test_what_shows_settings_shows_the_users(tmp_path: Path) -> None:
    """`git config` obeys none of them, so it gets none."""
    assert of_git("git config --get core.hooksPath") == {}


def test_a_reading_beside_a_writer_in_one_shell_keeps_nothing(tmp_path: Path) -> None:
    """Both share one environment, and the writer's hooks must run."""
    place = repository(tmp_path / "place")

    plan = planned(request(argv=("sh", "-c", "git commit -m x && git diff"), cwd=place))
    alone = planned(request(argv=("sh", "-c", "git diff && cat a"), cwd=place))

    assert [one.neutral for one in (plan.commands[0], *plan.commands[0].inner)] == [(), (), ()]
    assert alone.commands[0].neutral == alone.commands[0].inner[0].neutral != ()

"""Switch off in its environment what a program would obey besides its arguments."""

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import PlanDrift
from core.model.command import PinnedFile
from core.planning.digest import bind
from core.planning.steering import steering
from core.programs.neutral_environment import (
    Row,
    When,
    approved_environment,
    everywhere,
    neutral_environment,
    rows_of,
)
from core.runner.runner import Runner
from tests.faults.git_oracle.oracle import Trap, trap
from tests.faults.git_oracle.plants import plant
from tests.faults.git_oracle.routes import plain, template
from tests.support.git_repositories import git, repository
from tests.support.runs import Start, new_run, planned, request, run, script

GIT = PinnedFile("/usr/bin/git", "/usr/bin/git", 1, 1, 1, "")


def of_git(line: str) -> dict[str, str]:
    """Return what is set for a git command in addition to the environment of every child."""
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
    """Hooks and editors of the user work if the line is not known to be harmless."""
    assert of_git(line) == {}


def test_what_a_person_approved_gets_the_rows_of_every_invocation() -> None:
    """None of those for readings, even where the same arguments would be one; a stranger none."""
    npm, stranger = (PinnedFile(path, path, 1, 1, 1, "") for path in ("/usr/bin/npm", "/x/y"))

    assert approved_environment(("npm", "ls"), npm) == (("npm_config_update_notifier", "false"),)
    assert approved_environment(("git", "status"), GIT) == ()
    assert approved_environment(("y",), stranger) == ()


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
    """Return whether the hook ran, then run a control that makes it run."""
    found = (tmp_path / "ran").exists()
    os.utime(tmp_path / "place/a", (2, 2))
    git(tmp_path / "place", "diff")
    assert (tmp_path / "ran").exists()
    return found


async def test_it_reaches_the_child_of_a_reading_alone(runner: Runner, tmp_path: Path) -> None:
    """The repository's hook does not run; another command of the line gets only the base."""
    line = "git diff && printenv GIT_CONFIG_COUNT"

    done = await run(runner, request(line, cwd=hooked(tmp_path)))

    assert (done.output.text, ran(tmp_path)) == ("1\n", False)


async def test_a_request_cannot_overrule_it(runner: Runner, tmp_path: Path) -> None:
    """What is set for a command comes after what a request sets, whatever was approved."""
    changed = (("GIT_CONFIG_COUNT", "0"),)

    await run(runner, request("git diff", cwd=hooked(tmp_path), env=changed))

    assert not ran(tmp_path)


async def test_a_wrapper_passes_it_on(runner: Runner, tmp_path: Path) -> None:
    """What is set for the inner command is set for the wrapper, which passes it on."""
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
        await runner.run(new_run(), bare, Start())
    await runner.run(new_run(), bind(bare), Start())
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


ROWS: dict[str, tuple[str, str]] = {
    "core.hooksPath": ("hooks", "git diff"),
    "GIT_EDITOR": ("editor", "git branch --edit-description"),
    "GIT_SEQUENCE_EDITOR": ("sequence editor", "git rebase -i --autostash HEAD~1"),
    "GIT_ASKPASS": ("askpass", "echo url=https://host | git credential fill"),
    "credential.helper": ("credential helper", "echo url=https://host | git credential fill"),
    "GIT_SSH_COMMAND": ("ssh", "timeout 3 git ls-remote"),
    "GIT_PROXY_COMMAND": ("git proxy", "timeout 3 git ls-remote"),
    "GIT_ALLOW_PROTOCOL": ("url, ext", "timeout 3 git ls-remote"),
    "GIT_NO_LAZY_FETCH": ("promisor, ext", f"timeout 3 git cat-file -p {'1' * 40}"),
    "core.alternateRefsCommand": (
        "alternate references",
        """echo "$PWD/../../../template/.git/objects" >.git/objects/info/alternates
        git rev-list --alternate-refs""",
    ),
    "log.showSignature": ("signatures", "git log pgp"),
    "gpg.program": ("signatures by a format", "git log pgp"),
    "gpg.openpgp.program": ("signatures, openpgp", "git log --format=%G? pgp"),
    "gpg.x509.program": ("signatures, x509", "git log --format=%G? signed"),
    "gpg.ssh.program": ("signatures, ssh", "git log --format=%G? ssh"),
    "GIT_PAGER": ("pager", "script -qec 'git log' /dev/null"),
    "core.fsmonitor": ("fsmonitor", "git status"),
    "GIT_OPTIONAL_LOCKS": ("hooks", "git status"),
}
"""For each row something planted (tests/faults/git_oracle) and a line that would obey it."""


def test_each_row_is_proved() -> None:
    """Except the one that keeps git from waiting for a person, which is proved below."""
    rows = rows_of("git", "/usr/bin/git", "/usr/bin/git")

    assert {row.name for row in rows} == {*ROWS, "GIT_TERMINAL_PROMPT"}


@pytest.mark.parametrize("name", ROWS)
def test_a_row_switches_off_what_it_covers(name: str, tmp_path: Path) -> None:
    """The real git starts the canary without the row, and does not with this one row."""
    planted, line = ROWS[name]
    row = next(row for row in rows_of("git", "/usr/bin/git", "") if row.name == name)
    source = template(tmp_path / "template")
    with trap(tmp_path) as found:
        at = tmp_path / "places/one"
        at.mkdir(parents=True)
        place = plain(at, source)
        plant(planted, place, at, found.canary, found.port)
        git(place.tree, "add", ".")
        base = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0"}
        obeys = started(line, place.tree, base, found)
        without = started(line, place.tree, {**base, **_alone(row)}, found)

    assert (obeys, without) == (True, False)


def started(line: str, cwd: Path, environ: dict[str, str], found: Trap) -> bool:
    """Run a line directly in a shell; return whether it started the canary."""
    os.utime(cwd / "a2", (1, (cwd / "a2").stat().st_mtime + 1))
    found.sprung()
    subprocess.run(
        ["sh", "-c", line], cwd=cwd, env=environ, stdin=-3, stdout=-3, stderr=-3, check=False
    )
    return found.sprung()


def _alone(row: Row) -> dict[str, str]:
    if not row.is_setting:
        return {row.name: row.value}
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": row.name,
        "GIT_CONFIG_VALUE_0": row.value,
    }


def test_git_asks_nobody_at_a_terminal(tmp_path: Path) -> None:
    """It fails at once instead of waiting for a user's name."""
    line = "echo url=https://host | script -qec 'git credential fill </dev/stdin' /dev/null"
    environ = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_TERMINAL_PROMPT": "0"}

    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environ, capture_output=True, timeout=10, check=False
    )

    assert b"terminal prompts disabled" in done.stdout

"""Find what around a command makes it do more than its vector says."""

from pathlib import Path

import pytest

from tests.support.git_repositories import git, repository
from tests.support.runs import drifts, planned, request, script

HOOK = ".git/hooks/post-index-change"
UNREAD = (
    "(git commit -am x)",
    "(g''it commit -am x)",
    '"git" commit -am "$(cat m)"',
    'git commit -am "$(cat m)"',
    "git commit -am x -F <(cat m)",
    "if true; then git commit -am x; fi",
    "bash -c '(git commit -am x)'",
    "bash -c 'f() { git commit -am x; }; f'",
    "timeout 9 sh -c '(git commit -am x)'",
    "sudo sh -c 'git commit -am \"$(cat m)\"'",
    "env A=b sh -c '(git commit -am x)'",
    "flock l -c '(git commit -am x)'",
    "flock l git commit -am x",
    "watch git status",
    "npm exec git commit",
    "find . -name a -exec git add {} +",
    "xargs -I% git commit -m %",
    "python3 -c 'import os; os.system(\"git commit -am x\")'",
    "perl -e 'system(\"git commit -am x\")'",
    "awk 'BEGIN { system(\"git status\") }'",
    "tmux new 'git commit -am x'",
    "vim -c '!git commit -am x'",
    "(/usr/bin/git commit -am x)",
    "(exec -a x git commit)",
)


@pytest.mark.parametrize("line", UNREAD)
@pytest.mark.parametrize("at", [HOOK, ".git/hooks/post-checkout"])
def test_a_hook_of_git_in_an_unread_text_may_not_change(line: str, at: str, tmp_path: Path) -> None:
    """Nobody reads which subcommand it is, so each hook counts."""
    place = repository(tmp_path / "place")
    plan = planned(request(line, cwd=place))
    unchanged = drifts(plan)
    script(place / HOOK, "#!/bin/sh\n")
    added = drifts(plan)
    seen = planned(request(line, cwd=place))
    script(place / HOOK, "#!/bin/sh\ntrue\n")

    assert (unchanged, added, drifts(seen)) == (False, True, True)


@pytest.mark.parametrize("line", UNREAD)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("core.fsmonitor", "./own"),
        ("filter.x.clean", "sh own"),
        ("core.hooksPath", "hooks"),
    ],
)
def test_what_a_setting_starts_in_an_unread_text_may_not_change(
    line: str, name: str, value: str, tmp_path: Path
) -> None:
    """Neither the setting, nor the program that it names, nor a hook in the folder."""
    place = repository(tmp_path / "place")
    script(place / "own", "#!/bin/sh\n")
    (place / "hooks").mkdir()
    script(place / "hooks/post-index-change", "#!/bin/sh\n")
    plan = planned(request(line, cwd=place))
    git(place, "config", name, value)
    added = drifts(plan)
    seen = planned(request(line, cwd=place))
    unchanged = drifts(seen)
    script(place / "own", "#!/bin/sh\ntrue\n")
    script(place / "hooks/post-index-change", "#!/bin/sh\ntrue\n")

    assert (added, unchanged, drifts(seen)) == (True, False, True)


@pytest.mark.parametrize(
    "line",
    [
        "(cd {place} && git commit -am x)",
        'cd {place} && git commit -am "$(cat m)"',
        "(git -C {place} commit -am x)",
        "(git --git-dir={place}/.git commit -am x)",
        "(GIT_DIR={place}/.git git commit -am x)",
        "(cd ~/place && git commit -am x)",
        '(cd "$HOME/place" && git commit -am x)',
        "bash -c '(cd place; git commit -am x)'",
        "for d in place other; do (cd $d; git commit -am x); done",
    ],
)
def test_a_hook_in_a_folder_that_the_text_enters_may_not_change(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its path, by the home folder, or by an option of git."""
    monkeypatch.setenv("HOME", str(tmp_path))
    place = repository(tmp_path / "place")
    script(place / HOOK, "#!/bin/sh\n")
    plan = planned(request(line.format(place=place), cwd=tmp_path))
    unchanged = drifts(plan)
    script(place / HOOK, "#!/bin/sh\ntrue\n")

    assert (unchanged, drifts(plan)) == (False, True)


@pytest.mark.parametrize(
    ("line", "at"),
    [
        ("(git -c core.hooksPath=own commit -am x)", "own/pre-commit"),
        ("(git config core.hooksPath own; git commit -am x)", "own/pre-commit"),
        ("(git config core.hooksPath $PWD/own; git commit -am x)", "own/pre-commit"),
        ("(git init --template=own; git commit -am x)", "own/hooks/post-index-change"),
        ("(GIT_TEMPLATE_DIR=own git init; git commit -am x)", "own/hooks/post-index-change"),
    ],
)
def test_a_hook_in_a_folder_that_the_text_sets_may_not_change(
    line: str, at: str, tmp_path: Path
) -> None:
    """As the folder of hooks, or as that of new repositories."""
    place = repository(tmp_path / "place")
    (place / at).parent.mkdir(parents=True)
    script(place / at, "#!/bin/sh\n")
    plan = planned(request(line, cwd=place))
    unchanged = drifts(plan)
    script(place / at, "#!/bin/sh\ntrue\n")

    assert (unchanged, drifts(plan)) == (False, True)


@pytest.mark.parametrize("line", UNREAD)
def test_what_git_writes_itself_changes_nothing(line: str, tmp_path: Path) -> None:
    """Commits, branches and their remotes come and go while a person thinks."""
    place = repository(tmp_path / "place")
    script(place / HOOK, "#!/bin/sh\n")
    plan = planned(request(line, cwd=place))
    git(place, "switch", "-qc", "b")
    git(place, "commit", "-qam", "second", "--no-verify")
    git(place, "remote", "add", "origin", "https://github.com/a/b.git")
    git(place, "config", "branch.b.remote", "origin")
    git(place, "config", "branch.b.merge", "refs/heads/b")

    assert not drifts(plan)


@pytest.mark.parametrize(
    "line",
    [
        "(cat .gitignore)",
        "(ls .git)",
        "curl https://github.com/a/b.git | (cat)",
        "(make digit)",
        "for f in *; do echo $f; done",
        "(cat a.git)",
        "(cat git.txt)",
    ],
)
def test_a_text_without_git_is_not_concerned(line: str, tmp_path: Path) -> None:
    """Its prompt says nothing of hooks."""
    place = repository(tmp_path / "place")
    script(place / HOOK, "#!/bin/sh\n")

    assert [one.steered for one in planned(request(line, cwd=place)).commands] == [""]

"""Find the folders in which git starts what words name."""

from pathlib import Path

import pytest

from core.planning.git.discovery import trees_for
from tests.support.git_repositories import git, repository
from tests.support.runs import drifts, planned, request, script


@pytest.mark.parametrize(
    "line",
    [
        "git submodule foreach sh x",
        "git submodule foreach ./x",
        "git submodule foreach --recursive 'sh x'",
        "git submodule --quiet foreach 'y=1; . ./x'",
        "(git submodule foreach sh x)",
        "bash -c '(git submodule foreach ./x)'",
    ],
)
def test_what_runs_in_each_submodule_may_not_change(line: str, tmp_path: Path) -> None:
    """The words name it as it is called there."""
    place = repository(tmp_path / "place")
    script(repository(place / "sub") / "x", "#!/bin/sh\n")
    git(place, "add", "sub")
    plan = planned(request(line, cwd=place))
    unchanged = drifts(plan)
    script(place / "sub/x", "#!/bin/sh\ntrue\n")

    assert (unchanged, drifts(plan)) == (False, True)


def test_the_folders_are_the_top_and_the_submodules(tmp_path: Path) -> None:
    """These only for `foreach`; none where no git is named, or what is found is odd."""
    place = repository(tmp_path / "place")
    repository(place / "sub")
    git(place, "add", "sub")
    top, sub = str(place), str(place / "sub")

    assert trees_for("git submodule foreach ls", sub) == (sub,)
    assert trees_for("git submodule foreach ls", top) == (top, sub)
    assert trees_for("git q", top) == (top,)
    assert trees_for("submodule foreach", top) == ()
    (place / "sub/.git").rename(tmp_path / "git")
    (place / "sub/.git").write_text("gitdir:  odd ")
    assert trees_for("git submodule foreach ls", sub) == (sub,)

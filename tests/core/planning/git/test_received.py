"""Hold the hooks of the repository on this machine that a push arrives at."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.support.git_repositories import git, repository
from tests.support.runs import drifts, planned, request, script
from tests.support.tables import rows


def pushing(folder: str) -> Path:
    """Make a repository and three others that it may push to, each with hooks."""
    place = repository(Path(folder) / "r")
    git(Path(folder), "init", "-q", "--bare", "bare")
    git(Path(folder), "init", "-q", "--bare", "named.git")
    repository(Path(folder) / "work")
    for one in ("bare/hooks/post-receive", "named.git/hooks/update", "work/.git/hooks/update"):
        script(Path(folder) / one, "#!/bin/sh\necho good\n")
    return place


@rows(
    "remote, line, hook",
    [
        ("", "git push ../bare HEAD", "bare/hooks/post-receive"),
        ("", "git push -u ../bare HEAD", "bare/hooks/post-receive"),
        ("", "git push ../bare HEAD", "bare/hooks/pre-receive"),
        ("", "git push ../named HEAD", "named.git/hooks/update"),
        ("", "git push ../work HEAD", "work/.git/hooks/update"),
        ("", "git push file://{at}/bare HEAD", "bare/hooks/post-receive"),
        ("", "git push {at}/bare HEAD", "bare/hooks/post-receive"),
        ("../bare", "git push o HEAD", "bare/hooks/post-receive"),
        ("{at}/bare", "git push o HEAD", "bare/hooks/post-receive"),
        ("file://{at}/bare", "git push", "bare/hooks/update"),
        ("../work", "git push o HEAD", "work/.git/hooks/update"),
    ],
)
def test_the_hooks_of_a_local_repository_are_held(remote: str, line: str, hook: str) -> None:
    """They are shown, and another file there is drift."""
    with TemporaryDirectory() as folder:
        place = pushing(folder)
        if remote:
            git(place, "remote", "add", "o", remote.replace("{at}", folder))
        plan = planned(request(line.replace("{at}", folder), cwd=place))
        assert "SHA-256" in plan.commands[0].steered
        assert not drifts(plan)
        script(Path(folder) / "new", "#!/bin/sh\necho evil\n")
        (Path(folder) / "new").rename(Path(folder) / hook)

        assert drifts(plan)


@rows(
    "line",
    [
        "git push https://github.com/a/bare HEAD",
        "git push git@github.com:../bare HEAD",
        "git push ../none HEAD",
        "git fetch ../bare",
        "git log ../bare",
    ],
)
def test_what_arrives_elsewhere_runs_no_hook_here(line: str) -> None:
    """No repository of this machine is pushed to."""
    with TemporaryDirectory() as folder:
        place = pushing(folder)
        steered = planned(request(line, cwd=place)).commands[0].steered
        assert "hook" not in steered

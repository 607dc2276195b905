"""Hold what the values of settings make git start, however they name it."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from core.planning.git.started import Started
from tests.support.git_repositories import git, repository
from tests.support.runs import drifts, planned, request, script
from tests.support.tables import rows

FILES = ("x", "d/x", "d/notes", "notes", "mod.py", "cfg", "cfg:1", "h:1/pre-commit", "log")


def planted(folder: str, name: str, value: str) -> Path:
    """Make a repository with files and one setting."""
    place = repository(Path(folder) / "r")
    for one in FILES:
        (place / one).parent.mkdir(exist_ok=True)
        script(place / one, "[core]\n\teditor = ./x\n" if "cfg" in one else "#!/bin/sh\n")
    git(place, "config", name, value)
    return place


@rows(
    "name, value, line, file",
    [
        ("alias.q", "!./x", "git q", "x"),
        ("alias.q", "!cd d && ./x", "git q", "d/x"),
        ("alias.q", "!cd d; sh notes", "git q", "d/notes"),
        ("alias.q", "!sh d/no*", "git q", "d/notes"),
        ("alias.q", "!for f in d/*; do sh $f; done", "git q", "d/notes"),
        ("alias.q", "!python3 -c 'import mod'", "git q", "mod.py"),
        ("alias.q", "!python3 -m mod", "git q", "mod.py"),
        ("alias.q", "!$(git rev-parse --show-toplevel)/x", "git q", "x"),
        ("alias.q", '!"$(git rev-parse --show-toplevel)"/d/x', "git q", "d/x"),
        ("alias.q", "!$PWD/x", "git q", "x"),
        ("alias.q", "!~/x", "git q", "x"),
        ("alias.q", "!a=no; sh ${a}tes", "git q", "notes"),
        ("alias.q", "!sh ./no\\tes", "git q", "notes"),
        ("core.editor", "python3 -m mod", "git commit", "mod.py"),
        ("core.editor", "sh -c 'cd d; . ./notes'", "git commit", "d/notes"),
        ("core.editor", '"$PWD"/x', "git commit", "x"),
        ("core.editor", "env -C d ./x", "git commit", "d/x"),
        ("diff.external", "sh -c 'cd d; ./x'", "git diff", "d/x"),
        ("filter.a.process", "$(git rev-parse --show-toplevel)/x", "git checkout .", "x"),
        ("submodule.a.update", "!cd d; ./x", "git submodule update", "d/x"),
        ("url.ext::sh notes.insteadOf", "https:", "git fetch origin", "notes"),
        ("remote.origin.url", "ext::sh -c 'cd d; sh notes'", "git fetch origin", "d/notes"),
        ("include.path", "~/cfg", "git commit", "cfg"),
        ("include.path", "~/cfg", "git commit", "x"),
        ("include.path", "../cfg:1", "git commit", "cfg:1"),
        ("include.path", "../cfg:1", "git commit", "x"),
        ("core.hooksPath", "h:1", "git commit", "h:1/pre-commit"),
    ],
)
def test_what_a_value_starts_is_held(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str, file: str
) -> None:
    """Another file there is drift."""
    with TemporaryDirectory() as folder:
        place = planted(folder, name, value)
        monkeypatch.setenv("HOME", str(place))
        plan = planned(request(line, cwd=place))
        assert not drifts(plan)
        script(place / "new", "#!/bin/sh\necho evil\n")
        (place / "new").rename(place / file)

        assert drifts(plan)


@rows(
    "name, value, line, file",
    [
        ("alias.q", "!cd d && ./x", "git q", "log"),
        ("alias.q", "!cd d && ./x", "git status", "x"),
        ("core.editor", "./x", "git status", "x"),
        ("include.path", "~/cfg", "git commit", "log"),
        ("user.name", "x", "git commit", "x"),
        ("branch.x.merge", "refs/heads/x", "git commit", "x"),
    ],
)
def test_what_no_value_starts_may_change(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, line: str, file: str
) -> None:
    """Nobody is asked again because of it."""
    with TemporaryDirectory() as folder:
        place = planted(folder, name, value)
        monkeypatch.setenv("HOME", str(place))
        plan = planned(request(line, cwd=place))
        (place / file).write_text("changed\n")

        assert not drifts(plan)


def test_of_many_files_the_first_are_shown_and_all_are_held(tmp_path: Path) -> None:
    """A prompt is for reading."""
    (tmp_path / "d").mkdir()
    for number in range(30):
        (tmp_path / "d" / f"{number:02}").touch()

    first = Started().by("!sh d/*", [str(tmp_path)])
    (tmp_path / "d" / "29").write_text("changed")
    second = Started().by("!sh d/*", [str(tmp_path)])

    assert first.count(f"`{tmp_path}/d/") == 8
    assert ", and 22 more files (SHA-256 " in first
    assert first != second


def test_a_value_that_names_too_many_says_so(tmp_path: Path) -> None:
    """What its words name as they stand is held nevertheless."""
    (tmp_path / "x").touch()
    for number in range(1_100):
        (tmp_path / f"f{number}").touch()

    found = Started().by("!./x; sh f*", [str(tmp_path)])

    assert " (it names too many files" in found
    assert f"`{tmp_path}/x` (SHA-256 " in found


def test_many_values_take_little_time(tmp_path: Path) -> None:
    """Whoever writes the settings chooses how many there are."""
    started, begin = Started(), time.process_time()
    for number in range(4_000):
        started.by(f"sh x {number}", [str(tmp_path)])

    assert time.process_time() - begin < 10

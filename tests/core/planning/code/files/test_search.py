"""Know what a command would read first, and Python's cache of its code."""

import json
import os
import time
from pathlib import Path

import pytest

from core.planning.code.files.named import reached_files
from core.planning.code.files.search import Guesses
from tests.support.runs import planned, request


def tree(at: Path, *names: str) -> Path:
    """Make a folder with empty files."""
    for name in names:
        (at / name).parent.mkdir(parents=True, exist_ok=True)
        (at / name).touch()
    return at


@pytest.mark.parametrize(
    ("line", "ahead"),
    [
        ("node ./x", ["x"]),
        ("node x.js", []),
        ("sh x.js", []),
        ("node ./x > log", ["x"]),
        ("setsid node ./x", ["x"]),
    ],
)
def test_what_comes_first(tmp_path: Path, line: str, ahead: list[str]) -> None:
    """A file that is named in full has nothing before it."""
    plan = planned(request(line, cwd=tree(tmp_path, "x.js")))

    assert [Path(one).name for one in plan.commands[0].ahead] == ahead


def test_a_module_has_all_its_names(tmp_path: Path) -> None:
    """Those of each package on the way as well; and no name of what is given besides."""
    (command,) = planned(
        request("python3 -m unittest -v pk.sub out.xml", cwd=tree(tmp_path, "pk/sub.py"))
    ).commands
    names = {one.removeprefix(f"{tmp_path}/") for one in command.ahead}

    assert {"pk/__init__.py", "pk.py", "pk.so", "pk/sub/__init__.py", "unittest.py"} <= names
    assert not {"pk/sub.py", "out.xml", "-v"} & names
    assert {Path(one).parent.name for one in command.cached} == {"__pycache__"}


@pytest.mark.parametrize(
    ("line", "kept"),
    [
        ("python3 -m tool", {"tool"}),
        ("python3 tool.py", set()),
        ("python3 d", {"__main__"}),
        ("python3 d > log", {"__main__"}),
        ("python3 -m d > log", {"__init__", "__main__"}),
        ("python3 tool.py > log", set()),
    ],
)
def test_what_python_keeps(tmp_path: Path, line: str, kept: set[str]) -> None:
    """A script that is named is read itself, always."""
    at = tree(tmp_path, "tool.py", "d/__main__.py", "d/__init__.py")
    (command,) = planned(request(line, cwd=at)).commands

    assert {Path(one).name.partition(".")[0] for one in command.cached} == kept


def test_guesses_about_many_words_take_no_time(tmp_path: Path) -> None:
    """A folder that does not exist is checked once."""
    words = [f"no/{number}/x" for number in range(50_000)]
    start = time.process_time()
    reached_files(words, str(tmp_path), words)

    assert time.process_time() - start < 2


@pytest.mark.parametrize("option", ["--prof", "--cpu-prof", "--heap-prof", "--watch"])
def test_data_behind_an_option_without_a_value_is_not_bound(tmp_path: Path, option: str) -> None:
    """The script is the first word, so what follows it may change."""
    at = tree(tmp_path, "x.js", "data.log")
    plan = planned(request(f"node {option} x.js data.log", cwd=at))

    assert [Path(one.path).name for one in plan.commands[0].operands] == ["x.js"]


@pytest.mark.parametrize("options", ["-0777ne print", "-0pe 1", "-lne print", "-sSe 1"])
def test_data_of_code_on_the_line_is_not_bound(tmp_path: Path, options: str) -> None:
    """A command that changes it may run again: `perl -0pi -e s/a/b/ log`."""
    plan = planned(request(f"perl {options} log", cwd=tree(tmp_path, "log")))

    assert not plan.commands[0].operands


def found_in(root: Path, word: str) -> list[str]:
    """Return the files that a word leads to on a machine whose root folder this is."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            os.chroot(root)
            guesses = Guesses()
            guesses.add(word)
            os.write(writing, json.dumps(list(guesses.files)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as answer:
        found: list[str] = json.load(answer)
    os.waitpid(child, 0)
    return found


@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("word", ["/x", "/a/x"])
def test_a_guess_is_looked_for_where_there_is_a_folder(tmp_path: Path, word: str) -> None:
    """The root folder is one, too."""
    at = tree(tmp_path, "x", "a/x")

    assert found_in(at, word) == [word]
    assert found_in(at, f"/no{word}") == []


def test_a_folder_is_asked_for_once(tmp_path: Path) -> None:
    """Where it was missing, nothing more is looked for."""
    guesses, word = Guesses(), f"{tmp_path}/no/x"
    guesses.add(word)
    tree(tmp_path, "no/x")
    guesses.add(word)

    assert list(guesses.files) == []

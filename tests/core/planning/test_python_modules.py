"""Ask about a module of the working folder that Python imports instead of its own."""

import os
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from core.model.decision import Decision
from core.planning.python_modules import builds_of, imported, tags_of
from core.policy.judge.evaluate import evaluate
from tests.support.plans import LISTED, listed
from tests.support.runs import drifts, planned, request
from tests.support.tables import rows

EVERYTHING = listed("/**")
TOOL = "python3 -m json.tool data"

REPLACING = (
    *(
        "json.py",
        "re.py",
        "argparse.py",
        "encodings.py",
        "_json.py",
        "json.pyc",
        "json/__init__.py",
    ),
    *("json.cpython-311-x86_64-linux-gnu.so", "json/__init__.pyc", "collections/__init__.py"),
)
OTHERS = ("data.py", "json.txt", "json/schema.py", "my_json.py", "sub/json.py", "json.py.bak")


def steered(line: str, cwd: Path) -> str:
    """Return what steers the only command of a line."""
    return planned(request(line, cwd=cwd)).commands[0].steered


def placed(tree: Path, name: str, text: str = "") -> None:
    """Write a file below a folder."""
    (tree / name).parent.mkdir(exist_ok=True)
    (tree / name).write_text(text)


@pytest.mark.parametrize("name", REPLACING)
def test_a_module_of_the_folder_is_asked_about(tmp_path: Path, name: str) -> None:
    """The prompt names it, whatever is listed."""
    placed(tmp_path, name)
    plan = planned(request(TOOL, cwd=tmp_path))

    assert f"`{name.partition('/')[0]}`" in plan.commands[0].steered
    assert evaluate(plan, LISTED, EVERYTHING).decision is Decision.ASK


@pytest.mark.parametrize("name", REPLACING)
@pytest.mark.parametrize("before", ["", "json/__init__.py"])
def test_a_module_that_was_asked_about_may_not_change(
    tmp_path: Path, before: str, name: str
) -> None:
    """Nor one of several, although only the first is named."""
    placed(tmp_path, name)
    if before:
        placed(tmp_path, before)
    plan = planned(request(TOOL, cwd=tmp_path))
    unchanged = drifts(plan)
    placed(tmp_path, name, "import evil\n")

    assert (unchanged, drifts(plan)) == (False, True)


@pytest.mark.parametrize("name", OTHERS)
def test_what_python_does_not_import_is_no_question(tmp_path: Path, name: str) -> None:
    """Other files, and a folder without ``__init__``, which comes after Python's own module."""
    placed(tmp_path, name)
    assert steered(TOOL, tmp_path) == ""


@pytest.mark.parametrize(
    ("line", "asks"),
    [
        ("python3 -mjson.tool", True),
        ("python3 -um json.tool", True),
        ("python3 -X dev -W ignore -m json.tool", True),
        ("python3 -Xdev -m json.tool", True),
        ("python3 --check-hash-based-pycs always -m json.tool", True),
        ("python3 -m py_compile a.py", True),
        ("python3 -Im json.tool", False),
        ("python3 -I -m json.tool", False),
        ("python3 -P -m json.tool", False),
        ("python3 -m unittest", False),
        ("python3 -m pytest", False),
        ("python3 tool.py -m json.tool", False),
        ("python3 -c pass -m json.tool", False),
        ("python3 --version", False),
        ("python3 -m", False),
        ("cat -m json.tool", False),
    ],
)
def test_which_invocations_search_the_folder(tmp_path: Path, line: str, asks: bool) -> None:
    """Python's reading of its options decides; code allowed by a rule is its own."""
    placed(tmp_path, "json.py")
    assert (steered(line, tmp_path) != "") is asks


@pytest.mark.parametrize("words", [["-m", "json.tool"], ["-X", "dev", "-um", "json.tool"]])
@pytest.mark.parametrize("name", ["json.py", "json/__init__.py", "argparse.py"])
def test_python_really_imports_them(tmp_path: Path, name: str, words: list[str]) -> None:
    """The control: without the question the folder's code runs, and not with ``-I``."""
    placed(tmp_path, name, f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    for options, runs in (([], True), (["-I"], False), (["-P"], False)):
        (tmp_path / "ran").unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, *options, *words],
            cwd=tmp_path,
            input=b"{}",
            capture_output=True,
            check=False,
        )
        assert (tmp_path / "ran").exists() is runs, options


@rows(
    "words, files",
    [
        ("-m tool", ["tool.py", "tool/__init__.py", "tool/__main__.py"]),
        ("-mtool", ["tool.py", "tool/__init__.py", "tool/__main__.py"]),
        ("-W error -im tool x.py", ["tool.py", "tool/__init__.py", "tool/__main__.py"]),
        (
            "-m pk.a",
            ["pk.py", "pk/__init__.py", "pk/a.py", "pk/a/__init__.py", "pk/a/__main__.py"],
        ),
        (
            "-m pdb x.py",
            [
                *("pdb.py", "pdb/__init__.py", "pdb/__main__.py", "x.py", "x.py"),
                *("x/__init__.py", "x/__main__.py"),
            ],
        ),
        ("-I -m tool", []),
        ("x.py -m tool", []),
        ("-c 1 -m tool", []),
    ],
)
def test_what_a_module_is_imported_from(words: str, files: list[str]) -> None:
    """Its file or folder, the folders above it, and what it runs in turn."""
    found = imported(words.split())

    assert sorted(one for one in found if one.endswith(".py")) == files


def test_always_holds_for_the_module_that_was_seen(tmp_path: Path) -> None:
    """As with a script: an edit asks again."""
    placed(tmp_path, "tool.py", "print(1)\n")
    wish = request("python3 -m tool", cwd=tmp_path)
    promises = evaluate(planned(wish), LISTED, listed()).promise or ()
    kept = evaluate(planned(wish), LISTED, listed(*promises)).decision
    placed(tmp_path, "tool.py", "print(2)\n")

    assert kept is Decision.ALLOW
    assert evaluate(planned(wish), LISTED, listed(*promises)).decision is Decision.ASK


@rows(
    "words",
    [
        *("-m runpy sub.tool", "-m unittest sub.tool", "-m unittest sub.tool.Case.test_a"),
        *("-m unittest sub/tool.py", "-m cProfile -m sub.tool", "-m pdb -c c -m sub.tool"),
        *("-m trace -t --module sub.tool", "-m trace --module=sub.tool", "-m pdb -msub.tool"),
        *("-m pydoc sub.tool", "-m inspect sub.tool:Case"),
    ],
)
def test_modules_that_run_modules(words: str) -> None:
    """What they are given as a module's name is looked up like that of `-m` itself."""
    found = set(imported(words.split()))

    assert {"sub.py", "sub/__init__.py", "sub/tool.py", "sub/tool/__init__.py"} <= found


def test_of_many_names_the_first_are_looked_for() -> None:
    """A line of any length costs no more than that."""
    assert len(list(imported(["-m", "unittest", *("a.b",) * 9_999]))) < 20_000


@pytest.mark.parametrize(
    ("programs", "tags"),
    [
        (("/usr/bin/python3.11", "python3"), ("cpython-311",)),
        (("/opt/bin/python3.13t",), ("cpython-313",)),
        (("/usr/bin/pypy3.10",), ("pypy310",)),
        (("/opt/shims/python3",), tuple(f"cpython-3{one}" for one in range(6, 17))),
        (("/usr/bin/pypy3",), tuple(f"pypy3{one}" for one in range(6, 17))),
    ],
)
def test_what_a_version_calls_its_files(programs: tuple[str, ...], tags: tuple[str, ...]) -> None:
    """If the name does not say which version it is, it may be any."""
    assert tags_of(*programs) == tags


def test_real_python_imports_compiled_modules_so(tmp_path: Path) -> None:
    """Each of the names that it tries itself is known."""
    known = set(builds_of("x.so", tags_of(os.path.realpath(sys.executable))))

    assert {f"x{ending}" for ending in EXTENSION_SUFFIXES} <= known

"""Split ``find -exec`` as find does, bind it by path, judge it with unknown files."""

import subprocess
from pathlib import Path

import pytest

from core.model.decision import Decision
from core.policy.judge.evaluate import evaluate
from core.programs.find_exec import FindExec, find_exec
from tests.support.plans import LISTED, listed, plan_of, wrapped
from tests.support.tables import rows

LINES = (
    ("find", ".", "-name", "*.md", "-exec", "grep", "-l", "x", "{}", ";"),
    ("find", ".", "-name", "*.md", "-exec", "cat", "{}", "+"),
    ("find", ".", "-type", "f", "-exec", "echo", "=== {} ===", ";", "-exec", "wc", "-c", "{}", ";"),
    ("find", ".", "-exec", "echo", "{}", "+", "a", ";", "-print"),
    ("find", ".", "-name", "*.md", "-exec", "echo", "+", "{}", "and", ";"),
)


def decided(*argv: str, patterns: tuple[str, ...] = ("/**",)) -> Decision:
    """Judge a vector under strict trust."""
    return evaluate(plan_of(wrapped(*argv)), LISTED, listed(*patterns)).decision


@pytest.mark.parametrize("argv", [*LINES[:3], LINES[4]])
def test_programs_that_show_files_run_unasked(argv: tuple[str, ...]) -> None:
    """Each command and the find without them are listed and known."""
    assert decided(*argv) is Decision.ALLOW


@pytest.mark.parametrize("argv", [*LINES[:3], LINES[4]])
def test_the_bound_vector_does_the_same(argv: tuple[str, ...], tmp_path: Path) -> None:
    """With absolute paths instead of names, the real find prints what it printed before."""
    for name in ("a.md", "b.md", "-c.md"):
        (tmp_path / name).write_text("x\n", encoding="utf-8")
    bound = wrapped(*argv).bound
    assert bound is not None
    assert bound[0] == "/usr/bin/find"
    shown = [subprocess.check_output(one, cwd=tmp_path, timeout=30) for one in (argv, bound)]
    assert shown[0] == shown[1] != b""


@rows(
    "argv",
    [
        ("find", ".", "-exec", "id", ";"),
        ("find", ".", "-exec", "rm", "{}", ";"),
        ("find", ".", "-exec", "sh", "-c", "cat {}", ";"),
        ("find", ".", "-exec", "cat", "{}", ";", "-delete"),
        ("find", ".", "-exec", "cat", "{}", ";", "-exec", "rm", "{}", ";"),
        ("find", ".", "-execdir", "cat", "{}", ";"),
        ("find", ".", "-ok", "cat", "{}", ";"),
        ("find", ".", "-exec", "cat", "{}", ";", "-fprint", "x"),
        ("find", ".", "-exec", "./cat", "{}", ";"),
        ("find", ".", "-exec", "{}", ";"),
        ("find", ".", "-exec", "cat", "{}"),
        ("find", ".", "-exec", "nice", "cat", "{}", ";"),
        ("find", ".", "-exec", "cat", "-", "+"),
        ("find", ".", "-name", "-exec", "cat", "{}", ";", "-print"),
        ("find", "-f", "-exec", "cat", "{}", ";"),
    ],
)
def test_anything_else_asks(argv: tuple[str, ...]) -> None:
    """Other programs, other actions, and commands whose end is not certain."""
    assert decided(*argv) is not Decision.ALLOW


def test_the_find_itself_must_be_listed() -> None:
    """Listing only cat does not say that folders may be searched, and vice versa."""
    assert decided(*LINES[1], patterns=("/usr/bin/cat",)) is Decision.ASK
    assert decided(*LINES[1], patterns=("/usr/bin/find",)) is Decision.ASK
    assert decided(*LINES[1], patterns=("/usr/bin/cat", "/usr/bin/find")) is Decision.ALLOW


def test_a_plus_ends_only_behind_what_is_found(tmp_path: Path) -> None:
    """Words after `{} +` that are read as find's are read so by the real find: an error."""
    found = find_exec(LINES[3])
    assert isinstance(found, FindExec)
    assert found.commands == (("echo", "{}"),)
    done = subprocess.run(LINES[3], cwd=tmp_path, capture_output=True, timeout=30, check=False)
    assert (done.returncode != 0, done.stdout) == (True, b"")

"""`sayso policy test`: examples, expectations and exit codes for CI."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bot.policy_tools.past import home, sayso, write
from tests.project.tracked import ROOT

EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.json5"))
"""The policies to start from; each is tested from the moment it is there."""

RULE = {
    "match": {"argv": ["make", "test"]},
    "decide": "deny",
    "reason": "no builds here",
    "examples": {"match": [["make", "test"]], "miss": [["make"]]},
}


def config(*rules: object) -> dict[str, Any]:
    """Return a configuration with rules."""
    exec_ = {"host": "gateway", "security": "allowlist", "rules": list(rules)}
    return {"tools": {"exec": exec_}, "agents": {"list": [{"id": "coder"}]}}


def lines(*found: object) -> str:
    """Return JSON lines."""
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in found)


def test_without_a_file_the_examples_and_profiles_are_checked(tmp_path: Path) -> None:
    """Everything passes: exit 0, and the counts say what was checked."""
    done = sayso(home(tmp_path, config(RULE)), "policy", "test")

    assert 0 == done.returncode, done.stderr
    assert done.stdout.startswith("1 rule with 2 examples, ")
    assert done.stdout.endswith("0 expectations: all right\n")


def test_expectations_that_hold_are_exit_0(tmp_path: Path) -> None:
    """Each verdict, by line and vector, with its own settings and lists; comments skipped."""
    file = write(
        tmp_path / "expected.jsonl",
        lines(
            "# what CI relies on",
            {"command": "head -5", "expect": "allow"},
            {"argv": ["make", "test"], "expect": "deny"},
            {"command": "ls", "expect": "ask", "agent": "coder"},
            "",
            {"command": "ls", "expect": "allow", "allowlist": ["/usr/bin/ls"]},
            {"command": "ls", "expect": "deny", "ask": "off"},
            {"command": "./ls", "cwd": "/usr/bin", "expect": "allow", "allowlist": ["/usr/bin/ls"]},
            {"argv": ["make", "test"], "expect": "deny", "security": "full"},
        ),
    )
    done = sayso(home(tmp_path, config(RULE)), "policy", "test", "--json", str(file))
    found = json.loads(done.stdout)

    assert (0, True, 7, []) == (
        done.returncode,
        found["ok"],
        found["expectations"],
        found["failures"],
    )


def test_a_missed_expectation_is_named_with_what_was_decided(tmp_path: Path) -> None:
    """Line, command, both decisions, reason and why; exit 1."""
    file = write(
        tmp_path / "expected.jsonl",
        lines({"command": "head -5", "expect": "allow"}, {"command": "ls", "expect": "allow"}),
    )
    done = sayso(home(tmp_path, config()), "policy", "test", str(file))

    assert 1 == done.returncode
    (wrong,) = [line for line in done.stdout.splitlines() if line.startswith("WRONG")]
    assert f"{file}:2: 'ls': expected allow, decided ask (not_listed): " in wrong
    assert "no allowlist entry matches /usr/bin/ls" in wrong
    assert done.stdout.endswith("2 expectations: 1 wrong\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("no json", "not JSON"),
        ({"command": "ls"}, "`expect` must be one of"),
        ({"command": "ls", "expect": "maybe"}, "`expect` must be one of"),
        ({"expect": "ask"}, "exactly one of"),
        ({"command": "ls", "expect": "ask", "trust": "blind"}, "`trust` must be one of"),
    ],
)
def test_a_line_that_cannot_be_judged_is_wrong(tmp_path: Path, line: object, words: str) -> None:
    """Nothing that was meant as an expectation is skipped."""
    file = write(tmp_path / "expected.jsonl", lines(line))
    done = sayso(home(tmp_path, config()), "policy", "test", str(file))

    assert 1 == done.returncode
    assert words in done.stdout


def test_a_file_of_something_else_does_not_flood(tmp_path: Path) -> None:
    """Twenty lines are named, each with its column, and the rest are counted."""
    file = write(tmp_path / "README.md", "Title\n" * 30)
    done = sayso(home(tmp_path, config()), "policy", "test", str(file))
    first, *_, last, _ = done.stdout.splitlines()

    assert first.endswith(":1: cannot be judged: The line is not JSON: Expecting value (column 1).")
    assert (done.stdout.count("WRONG"), last) == (20, "… and 10 more; --json lists all")


def test_an_example_that_does_not_behave_is_exit_1(tmp_path: Path) -> None:
    """The rule and the example are named; other mistakes of the file are exit 2."""
    broken = {**RULE, "examples": {"match": [["make", "lint"]]}}
    done = sayso(home(tmp_path, config(broken)), "policy", "test")

    assert 1 == done.returncode
    assert done.stdout.count("tools.exec.rules[0].examples.match[0]") == 1
    assert "is not matched by its rule" in done.stdout
    assert 2 == sayso(home(tmp_path, "{ tolls: 1 }"), "policy", "test").returncode


def test_another_configuration_can_be_tested(tmp_path: Path) -> None:
    """--config replaces the one in effect; a missing file is exit 2."""
    state = home(tmp_path, config())
    new = write(tmp_path / "new.json5", config(RULE))
    file = write(tmp_path / "e.jsonl", lines({"argv": ["make", "test"], "expect": "deny"}))

    assert 1 == sayso(state, "policy", "test", str(file)).returncode
    assert 0 == sayso(state, "policy", "test", "--config", str(new), str(file)).returncode
    assert 2 == sayso(state, "policy", "test", str(tmp_path / "none")).returncode


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_each_shipped_policy_passes_its_own_test(tmp_path: Path, example: Path) -> None:
    """It loads, its examples behave, and it decides what the file beside it expects."""
    expected = example.with_suffix(".jsonl")
    assert expected.exists(), f"write {expected.relative_to(ROOT)}: a line for each verdict"
    for verdict in ("allow", "ask"):
        words = f'"expect": "{verdict}"'
        assert words in expected.read_text(), f"{expected.relative_to(ROOT)}: no line has {words}"
    done = sayso(
        home(tmp_path, config()), "policy", "test", "--config", str(example), str(expected)
    )

    assert 0 == done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_a_page_says_what_each_shipped_policy_is_for(example: Path) -> None:
    """Nobody finds it otherwise."""
    page = ROOT / "docs" / "how-to" / "example-policy.md"
    words = f"write in {page.relative_to(ROOT)} what {example.relative_to(ROOT)} is for"

    assert f"(../examples/{example.name})" in page.read_text(), words

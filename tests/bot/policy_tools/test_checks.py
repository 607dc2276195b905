"""Check rules, shipped tables, and expectations if there is a file of them."""

from pathlib import Path

import pytest

from bot.policy_tools.checks import check, shown
from core.errors import BadRequest

RULES = """{
  tools: {exec: {security: "allowlist", ask: "on-miss", rules: [
    {match: {argv: ["make", "<NAME>"]}, decide: "deny",
     examples: {match: [["make", "x"]], miss: [["make"]]}},
  ]}},
  agents: {list: [{id: "coder", tools: {exec: {rules: [
    {match: {argv: ["git", "push"]}, decide: "deny"},
  ]}}}]},
}"""


def environ(home: Path) -> dict[str, str]:
    """Write a configuration with two rules; return the environment that names it."""
    home.chmod(0o700)
    (home / "config.json5").write_text(RULES)
    (home / "config.json5").chmod(0o600)
    return {"SAYSO_HOME": str(home), "HOME": str(home), "PATH": "/usr/bin:/bin"}


@pytest.mark.parametrize(
    ("lines", "expectations", "wrong"),
    [
        (None, 0, []),
        ("", 0, []),
        ("# nothing\n\n", 0, []),
        ('{"command": "make x", "expect": "deny"}\n', 1, []),
        (
            '{"command": "make x", "expect": "deny"}\n{"command": "make y", "expect": "ask"}\n',
            2,
            [2],
        ),
    ],
)
def test_expectations_are_checked_if_a_file_has_them(
    tmp_path: Path, lines: str | None, expectations: int, wrong: list[int]
) -> None:
    """Without a file, the rules and the shipped tables are; the counts say what was."""
    file = None if lines is None else tmp_path / "expected.jsonl"
    if file is not None:
        file.write_text(lines or "")
    found = check(file, None, environ(tmp_path), "/")

    assert (found.rules, found.examples, found.expectations) == (2, 2, expectations)
    assert found.profiles > 50
    assert [one.place for one in found.failures] == [f"{file}:{number}" for number in wrong]
    assert (": all right\n" in shown(found)) is (not wrong)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Nothing counts as checked."""
    with pytest.raises(BadRequest, match="cannot be read"):
        check(tmp_path / "none.jsonl", None, environ(tmp_path), "/")

"""Show a command in one line of a list."""

from collections.abc import Mapping
from typing import Any

import pytest

from bot.cli.listings import one_line, rules


@pytest.mark.parametrize("text", ["git status", "echo ü", "x" * 236, "字" * 118, ""])
def test_what_fits_is_shown_whole(text: str) -> None:
    """Nothing is marked where nothing is left out."""
    assert text == one_line(text, 4)


@pytest.mark.parametrize(
    ("text", "ends"),
    [
        ("x" * 10_000, "x …"),
        ("字" * 200, "字 …"),
        ("one⏎\ntwo", "one⏎ …"),
        ("x" * 237, "x …"),
    ],
)
def test_what_does_not_fit_is_marked(text: str, ends: str) -> None:
    """One line of the available width, with a mark at its end."""
    line = one_line(text, 4)
    assert line.endswith(ends)
    assert "\n" not in line
    assert sum(2 if one == "字" else 1 for one in line) <= 236


@pytest.mark.parametrize(
    "whole", ["\\u{202E}", "\\u{0020}\\u{\u00d7400}", "[secret: GitHub token]"]
)
def test_no_escape_and_no_mask_is_cut_in_two(whole: str) -> None:
    """Wherever the line ends, an escape is shown whole or not at all."""
    for before in range(200, 240):
        line = one_line("x" * before + whole + "y" * 300, 4)
        rest = line.lstrip("x").removeprefix(whole)
        assert set(rest) <= set("y …"), line


def test_a_narrow_terminal_bounds_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The width of the terminal counts if there is one."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert one_line("x" * 100, 4) == f"{'x' * 34} …"


def test_a_rule_names_its_tier_where_it_raises_one() -> None:
    """Routine is what a question is without a rule."""
    rule = {"decide": "ask", "by": "program", "pattern": "git", "within": None, "reason": None}
    rows: list[Mapping[str, Any]] = [
        {**rule, "place": "main", "tier": tier} for tier in ("routine", "critical")
    ]
    assert rules(rows) == "ask    program git  (main)\nask    program git  critical  (main)\n"

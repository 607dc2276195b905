from typing import Any

import pytest

from core.policy.profiles import profile_of
from core.policy.tables import section, table

PROFILES: list[tuple[str, str, dict[str, Any]]] = [
    (name, key, dict(section(holder, key)))
    for name, holder in (
        ("safe_bins", table("safe_bins")),
        ("carriers", section(table("carriers"), "profile")),
    )
    for key in holder
    if key != "directories"
]


@pytest.mark.parametrize(("file", "name", "entry"), PROFILES)
def test_in_file_examples_hold(file: str, name: str, entry: dict[str, Any]) -> None:
    """Each shipped profile accepts and refuses what its own file says."""
    profile = profile_of(entry)
    assert entry["accept"], file
    assert entry["refuse"], name
    for arguments in entry["accept"]:
        assert profile.problem(arguments) is None, arguments
    for arguments in entry["refuse"]:
        assert profile.problem(arguments) is not None, arguments


SMALL = profile_of(
    {
        "flags": "-a -b --all",
        "values": {"integer": "-n --number"},
        "optional": {"word": "-c --colour"},
        "operands": 1,
    }
)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-ab"],
        ["-an5"],
        ["-n", "5"],
        ["--number=5"],
        ["--colour"],
        ["--colour=x"],
        ["-cx", "f"],
    ],
)
def test_listed_spellings_pass(arguments: list[str]) -> None:
    """Clusters, glued values and both long forms are understood."""
    assert SMALL.problem(arguments) is None


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["-x"], "-x"),
        (["-ax"], "-x"),
        (["-nx"], "-n"),
        (["-n"], "lacks"),
        (["--num=5"], "--num"),
        (["--al"], "--al"),
        (["--all=1"], "--all"),
        (["--", "f", "g"], "'g'"),
        (["f", "g"], "'g'"),
        (["--", "-x", "y"], "'y'"),
    ],
)
def test_all_else_is_named(arguments: list[str], word: str) -> None:
    """Unknown options, abbreviations, bad values and surplus operands are refused by name."""
    problem = SMALL.problem(arguments)
    assert problem is not None
    assert word in problem


def test_an_unknown_value_kind_stops_the_load() -> None:
    """A typo in the data fails when the table is loaded."""
    with pytest.raises(KeyError):
        profile_of({"values": {"nmber": "-n"}})

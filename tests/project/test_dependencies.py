import re
import tomllib
from collections.abc import Iterable

import pytest

from tests.project.tracked import ROOT

PAGE = ROOT / "docs" / "decisions" / "dependencies.md"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def names(requirements: Iterable[str]) -> set[str]:
    """Return the normalised names of requirements."""
    found = (re.match(r"[A-Za-z0-9._-]+", requirement) for requirement in requirements)
    return {re.sub(r"[._-]+", "-", match[0]).lower() for match in found if match}


def locked(name: str) -> dict[str, str]:
    """Return the pinned versions of a lock."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9._-]+)(?:\[[^]]*\])?==(\S+)", text, re.MULTILINE))


def table(heading: str) -> set[str]:
    """Return the distributions in one table of the page."""
    _, _, rest = PAGE.read_text(encoding="utf-8").partition(f"## {heading}\n")
    return set(re.findall(r"^\| `([^`]+)` \|", rest.partition("\n## ")[0], re.MULTILINE))


def test_every_dependency_has_its_line() -> None:
    """What for, why this one, licence: for each dependency and for nothing else."""
    assert table("To run") == names(PROJECT["project"]["dependencies"])
    assert table("To develop") == names(PROJECT["dependency-groups"]["dev"])
    assert table("To build") >= names(PROJECT["build-system"]["requires"])


def test_no_cell_of_the_page_is_empty() -> None:
    """A row says what for and under which licence."""
    rows = re.findall(
        r"^\| `[^`]+` \|(.*)\|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )

    assert rows
    assert all(why.strip() and licence.strip() for why, licence in rows)


@pytest.mark.parametrize(
    ("lock", "groups"), [("requirements.lock", ()), ("requirements-dev.lock", ("dev",))]
)
def test_a_lock_pins_every_dependency(lock: str, groups: tuple[str, ...]) -> None:
    """Nothing is resolved at installation: what pyproject.toml names is pinned, and the build."""
    wanted = names(PROJECT["project"]["dependencies"]) | {"hatchling", "editables"}
    for group in groups:
        wanted |= names(PROJECT["dependency-groups"][group])

    assert wanted <= set(locked(lock))


def test_the_locks_agree() -> None:
    """The tests run against the versions that users get."""
    runtime, dev = locked("requirements.lock"), locked("requirements-dev.lock")

    assert {name: dev.get(name) for name in runtime} == runtime


def test_exact_pins_are_the_locked_ones() -> None:
    """The parser pair of pyproject.toml is the pair that the locks install."""
    exact = dict(
        re.findall(
            r"^([a-z-]+)==([\d.]+)$", "\n".join(PROJECT["project"]["dependencies"]), re.MULTILINE
        )
    )

    assert set(exact) == {"tree-sitter", "tree-sitter-bash"}
    assert exact.items() <= locked("requirements.lock").items()

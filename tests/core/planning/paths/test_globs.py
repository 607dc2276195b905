"""Expand a glob to the files that bash and dash would both name; otherwise it is not certain."""

import subprocess
from pathlib import Path

import pytest

from core.model.command import PartKind, WordPart
from core.planning.paths.globs import UncertainGlob, matches

NAMES = ("a", "b", "ab", "aab", "abc", "a.b", "-x", ".h", "sub/a", "sub/b.c", "sub/deep/a")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a few files."""
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    for name in NAMES:
        (tmp_path / name).touch()
    return tmp_path


def parts(pattern: str) -> list[WordPart]:
    """Return a pattern's parts: each ``*``, ``?`` and ``[...]`` a glob, the rest literal."""
    found: list[WordPart] = []
    while pattern:
        end = pattern.index("]", 2) + 1 if pattern[0] == "[" else 1
        kind = PartKind.GLOB if pattern[0] in "*?[" else PartKind.LITERAL
        found.append(WordPart(kind, pattern[:end]))
        pattern = pattern[end:]
    return found


@pytest.mark.parametrize(
    "pattern",
    [
        *("*", "?", "??", "a*", "*b", "a*b", "*a*b*", "a?b", "a*c", ".*h", "-*", "*.*"),
        *("[ab]", "[a-b]b", "[-x]x", "a[a-c]b", "sub/*", "*/a", "*/*/a", "s?b/[ab]", "sub/*.c"),
        *("./a*", "*/", "sub/*/"),
    ],
)
def test_it_names_what_a_shell_would(pattern: str, folder: Path) -> None:
    """The shell is dash, in the C locale."""
    said = subprocess.run(
        ["dash", "-c", f"printf '%s\\n' {pattern}"],
        cwd=folder,
        env={"LC_ALL": "C"},
        capture_output=True,
        text=True,
        check=True,
    )

    found = matches(parts(pattern), str(folder))

    assert found
    assert found == said.stdout.splitlines()


@pytest.mark.parametrize("pattern", ["z*", "?" * 9, "ab?d", "[c-d]", "sub/*/b", "a/*", "b*b"])
def test_it_names_nothing_where_nothing_fits(pattern: str, folder: Path) -> None:
    """The word is then left unchanged, by both shells."""
    assert matches(parts(pattern), str(folder)) == []


@pytest.mark.parametrize("pattern", [".*", ".?", "[A-b]*", "[9-0]", "*//a"])
def test_where_shells_differ_it_is_not_certain(pattern: str, folder: Path) -> None:
    """Hidden folders, ranges across alphabets, two slashes."""
    with pytest.raises(UncertainGlob):
        matches(parts(pattern), str(folder))

"""Find what a command may read besides what it names, by both of its paths."""

import hashlib
import lzma
import shutil
import subprocess
from pathlib import Path

import pytest

from core.programs.implicit_reads import Contents, contents_of, names_no_file, reads_elsewhere
from tests.support.tables import rows


def of(name: str) -> tuple[str, str]:
    """Return the two paths of a program of the system."""
    return f"/usr/bin/{name}", f"/usr/bin/{name}"


@pytest.mark.parametrize(
    ("name", "count", "expected"),
    [
        ("echo", 0, True),
        ("echo", 3, True),
        ("env", 0, True),
        ("env", 1, False),
        ("cat", 0, False),
        ("cat", 1, False),
    ],
)
def test_no_word_names_a_file_where_the_program_only_prints(
    name: str, count: int, expected: bool
) -> None:
    """With an argument, `env` starts a program that may read anything."""
    assert names_no_file(count, *of(name)) is expected


@pytest.mark.parametrize(
    "paths",
    [
        ("/usr/bin/echo", "/srv/echo"),
        ("/srv/echo", "/usr/bin/echo"),
        ("/usr/bin/echo", "/usr/bin/cat"),
        ("/usr/bin/cat", "/usr/bin/echo"),
    ],
)
def test_a_program_is_what_both_of_its_paths_say(paths: tuple[str, str]) -> None:
    """A link with a harmless name leads to another program, or to a user's own."""
    assert not names_no_file(1, *paths)
    assert contents_of(("echo", "x"), *paths) is not Contents.NONE
    assert contents_of(("echo", "x"), *of("echo")) is Contents.NONE, "the control"


@rows(
    "line, expected",
    [
        ("ls -l", Contents.NONE),
        ("git status", Contents.NONE),
        ("git status -v", Contents.ANYWHERE),
        ("git log", Contents.ANYWHERE),
        ("git", Contents.ANYWHERE),
        ("find . -name x", Contents.NONE),
        ("find . -exec cat {} +", Contents.ANYWHERE),
        ("cat a", Contents.FILES),
        ("grep x a", Contents.FILES),
        ("grep -r x a", Contents.ANYWHERE),
        ("diff a b", Contents.FOLDERS),
        ("python3 a", Contents.ANYWHERE),
    ],
)
def test_what_is_in_no_list_may_read_anything(line: str, expected: Contents) -> None:
    """An option that spreads, an unlisted subcommand, an unknown program."""
    name, *words = line.split()

    assert contents_of((name, *words), *of(name)) is expected


@pytest.mark.parametrize(
    ("line", "paths", "expected"),
    [
        ("grep -R x a", of("grep"), True),
        ("grep -r x a", of("grep"), False),
        ("cp -rL a b", of("cp"), True),
        ("cp a b", of("cp"), False),
        ("g -R x a", ("/usr/bin/g", "/usr/bin/grep"), True),
        ("g -R x a", ("/usr/bin/grep", "/usr/bin/g"), True),
        ("-R", of("grep"), False),
    ],
)
def test_an_option_that_follows_links_reads_elsewhere(
    line: str, paths: tuple[str, str], expected: bool
) -> None:
    """By either of the names; the invoked word is not an option."""
    assert reads_elsewhere(tuple(line.split()), *paths) is expected


@pytest.mark.parametrize(
    ("line", "listed", "shown"),
    [
        ("strings -a @list", "{outside}\n", "a secret text"),
        ("sha256sum -c list", "{hash}  {outside}\n", ": OK"),
        ("sha256sum --c list", "{hash}  {outside}\n", ": OK"),
        ("sha256sum -wc list", "{hash}  {outside}\n", ": OK"),
        ("cksum -a sha256 --check list", "{hash}  {outside}\n", ": OK"),
        ("file -flist", "{outside}\n", "ASCII text"),
        ("wc --f=list", "{outside}\0", "14"),
        ("du --files0-from=list", "{outside}\0", "outside"),
        ("xzcat --files=list", "{outside}.xz\n", "a secret text"),
    ],
)
def test_a_file_that_lists_others_leads_elsewhere(
    tmp_path: Path, line: str, listed: str, shown: str
) -> None:
    """The list is in a granted folder, what it names is not; the program itself is the oracle."""
    granted, outside = tmp_path / "granted", tmp_path / "outside"
    granted.mkdir()
    outside.write_text("a secret text\n")
    Path(f"{outside}.xz").write_bytes(lzma.compress(outside.read_bytes()))
    digest = hashlib.sha256(outside.read_bytes()).hexdigest()
    (granted / "list").write_text(listed.format(outside=outside, hash=digest))
    name, *words = line.split()
    assert shutil.which(name), f"{name} is missing; tests/system_packages.sh installs it"

    done = subprocess.run((name, *words), cwd=granted, capture_output=True, text=True, check=True)

    assert shown in done.stdout, "the control: it reads what the list names"
    assert reads_elsewhere((name, *words), *of(name))
    if name != "du":
        assert contents_of((name, *words), *of(name)) is Contents.ANYWHERE


@pytest.mark.parametrize("line", ["sha256sum a", "strings -a a", "file a", "wc -c a", "du -s a"])
def test_what_lists_nothing_reads_what_it_names(line: str) -> None:
    """The control of the last test."""
    name, *words = line.split()

    assert not reads_elsewhere((name, *words), *of(name))

"""Find what a word may name: by its spelling alone."""

import pytest

from core.planning.code.words.parts import in_cluster, is_input, pieces_of, resolved, tails
from core.shell.unread_commands import UNCERTAIN
from tests.support.tables import rows


@rows(
    "word",
    [
        *("-", "/dev/stdin", "//dev/stdin", "/dev/./stdin", "/dev/fd/3", "/proc/self/fd/0"),
        *("/proc/thread-self/fd/12", "/proc/1/task/1/fd/0", "../../proc/self/fd/0"),
        f"/proc/{UNCERTAIN}/fd/{UNCERTAIN}",
    ],
)
def test_the_input_by_any_name(word: str) -> None:
    """Or whatever else is open."""
    assert is_input(word)


@pytest.mark.parametrize("word", ["", "stdin", "x-", "/dev/null", "/dev/fd", "fd", "a/stdin"])
def test_other_names(word: str) -> None:
    """They name files, or nothing."""
    assert not is_input(word)


@rows(
    "word, path",
    [
        ("notes", "notes"),
        ("/proc/self/cwd/notes", "notes"),
        ("/proc/self/cwd//../notes", "../notes"),
        ("/proc/thread-self/cwd/./a/b", "a/b"),
        ("../../proc/1/task/1/cwd/notes", "notes"),
        ("/proc/self/root/proc/self/cwd/notes", "notes"),
        ("/proc/self/root/abs/notes", "/abs/notes"),
        ("/proc/self/status", "/proc/self/status"),
        ("file:/abs/notes", "/abs/notes"),
        ("File:///abs/n%6ftes", "/abs/notes"),
        ("file://localhost/abs/notes", "/abs/notes"),
        ("https://host/file:/x", "https://host/file:/x"),
    ],
)
def test_the_path_of_a_word(word: str, path: str) -> None:
    """In a URL, or by way of the process."""
    assert resolved(word) == path


def test_what_is_joined_in_one_word() -> None:
    """After letters of options, or after anything before a slash."""
    assert "a.tar" in list(in_cluster("-xOfa.tar"))
    assert not list(in_cluster("--file"))
    assert "./x" in list(tails("-cI./x"))
    assert "sub/x" in list(tails("ext::sub/x"))
    assert not list(tails("plain"))
    assert {"a", "notes"} <= set(pieces_of("a\\nnotes\\n"))
    assert "notes" in set(pieces_of("not\\x65s\\012"))
    assert {"sh", "notes"} <= set(pieces_of("sh:notes%s"))
    assert "notes" in set(pieces_of("s/x/notes/"))
    assert {"a", "b.txt"} <= set(pieces_of("if=a,b.txt"))
    assert "notes" in set(pieces_of(f"{UNCERTAIN}/notes"))

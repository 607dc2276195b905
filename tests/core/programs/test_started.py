"""Find what a program starts by a name among its arguments."""

import re

import pytest

from core.programs.started import Start, Starter, names_started
from tests.support.tables import rows

RUN = Starter(Start.PROGRAM, re.compile(r"\A\0run\0"))
MODULE = Starter(Start.MODULE, re.compile(r"\A\0-[A-Za-z0-9]*?m\0?"))
SCRIPT = Starter(Start.SCRIPT, re.compile(r"\A\0"))


@rows(
    "words, found",
    [
        ("run a -b c", [("a", "-b c")]),
        ("run -q a b", [("a", "b"), ("b", "")]),
        ("run --with x a b", [("x", "a b"), ("a", "b")]),
        ("run --with=x a b", [("a", "b")]),
        ("run -- a b", [("a", "b")]),
        ("run -x -- a b", [("a", "b")]),
        ("run -x", []),
        ("test a", []),
        ("", []),
    ],
)
def test_the_name_is_the_first_word_or_behind_an_option(
    words: str, found: list[tuple[str, str]]
) -> None:
    """An option may have taken the first one as its value, unless it has one already."""
    started = [(name, " ".join(rest)) for name, rest in RUN.started(words.split())]
    assert started == found


@pytest.mark.parametrize("words", [("-m", "a", "-b"), ("-ma", "-b"), ("-Bma", "-b")])
def test_a_module_may_be_glued_to_its_option(words: tuple[str, ...]) -> None:
    """Python's `-mpip` and `-Bm pip` name the same."""
    assert [*MODULE.started(words)] == [("a", ("-b",))]


@rows(
    "starter, name, wraps",
    [
        (RUN, "sh", True),
        (RUN, "concurrently", True),
        (RUN, "wait", False),
        (RUN, "pytest", False),
        (MODULE, "watch", False),
        (SCRIPT, "/x/node_modules/.bin/concurrently", True),
        (SCRIPT, "/usr/bin/parallel", True),
        (SCRIPT, "build/watch", False),
        (SCRIPT, "bin/watch.js", False),
    ],
)
def test_wrappers_and_shells_are_known_where_programs_are(
    starter: Starter, name: str, *, wraps: bool
) -> None:
    """A script of a project, a module and a word of a shell are none."""
    assert (starter.wrapper(name, 1) is not None) is wraps


def test_a_name_with_a_suffix_is_only_itself() -> None:
    """`make.py` is not make, and `python3.11` is python."""
    assert names_started("x/make.py") == {"make.py"}
    assert "python" in names_started("/usr/bin/python3.11")
    assert "npx" in names_started("/usr/bin/npx")
    assert "tsx" in names_started("tsx@latest")
    assert "test" not in names_started("test")

"""Write a vector so that readers and real shells read that vector."""

import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.model.command import Connector, Reading
from core.shell import posix_reader, reader
from core.shell.quoting import quote_argv, quote_reading, quote_word
from tests.support.tables import rows

WORDS = st.text(
    st.one_of(
        st.sampled_from("ab 'é日\"\\$`!|&;<>()*?[]{}~#=^\n\t-"), st.characters(codec="ascii")
    ),
    max_size=8,
).filter(lambda word: "\0" not in word)


@rows(
    "word, written",
    [
        ("a/b.c-1", "a/b.c-1"),
        ("--x=y", "--x=y"),
        ("", "''"),
        ("a b", "'a b'"),
        ("=a", "'=a'"),
        ("~", "'~'"),
        ("it's", r"'it'\''s'"),
        ("'", r"\'"),
        ("'a", r"\''a'"),
        ("é", "'é'"),
    ],
)
def test_words_are_written_bare_or_in_single_quotes(word: str, written: str) -> None:
    """Only what no shell could expand is left bare."""
    assert quote_word(word) == written


def test_a_name_that_looks_like_an_assignment_is_quoted() -> None:
    """``A=1`` as a program's name must not become a variable; as an operand it stays bare."""
    assert quote_argv(["A=1", "B=2"]) == "'A=1' B=2"


def test_a_reading_is_written_with_its_connectors() -> None:
    """Connectors are between vectors as a person would write them."""
    reading = Reading(
        (("a", "b c"), ("d",), ("e",), ("f",), ("g",)),
        (Connector.PIPE, Connector.AND, Connector.OR, Connector.THEN),
    )
    assert quote_reading(reading) == "a 'b c' | d && e || f; g"


@given(st.lists(WORDS, min_size=1, max_size=5))
def test_shlex_takes_apart_what_was_written(argv: list[str]) -> None:
    """The standard library reads back any vector."""
    assert shlex.split(quote_argv(argv)) == argv


@given(
    st.lists(st.lists(WORDS, min_size=1, max_size=3).map(tuple), min_size=1, max_size=4),
    st.data(),
)
def test_the_second_reader_reads_back_any_reading(
    argvs: list[tuple[str, ...]], data: st.DataObject
) -> None:
    """The round trip of rule R10 holds for every vector and connector."""
    joins = tuple(data.draw(st.sampled_from(Connector)) for _ in argvs[1:])
    reading = Reading(tuple(argvs), joins)
    assert posix_reader.read(quote_reading(reading)) == reading


@given(st.lists(st.text("ab 'é\"\\$!;\n", max_size=8), min_size=1, max_size=3))
def test_the_whole_reader_reads_back_what_a_person_copies(operands: list[str]) -> None:
    """A written line can be requested again and is read the same, by the tree as well."""
    argv = ("ls", *operands)
    assert reader.read(quote_argv(argv)) == Reading((argv,))


@pytest.mark.parametrize("name", ["bash", "dash"])
@settings(max_examples=40)
@given(st.lists(WORDS, max_size=4))
def test_a_real_shell_reads_back_any_vector(name: str, argv: list[str]) -> None:
    """Each shell passes a program exactly the words that were written."""
    line = quote_argv(["/usr/bin/printf", r"%s\0", "", *argv])
    done = subprocess.run([name, "-c", line], check=True, capture_output=True)
    assert done.stdout.decode().split("\0")[1:-1] == argv

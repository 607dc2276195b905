"""Session filters match what they say, and nothing can make them slow."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.settings.session_filter import LONGEST_PATTERN, LONGEST_TEXT, Pattern, session_filter

_PATTERNS = st.recursive(
    st.sampled_from(
        ["a", "b", ".", "[ab]", "[^a]", "[a-c]", "\\d", "\\w", "\\s", "\\.", "^", "$", ""]
    ),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map("|".join),
        st.tuples(inner, st.sampled_from("*+?")).map(lambda part: f"({part[0]}){part[1]}"),
    ),
    max_leaves=12,
)


@given(source=_PATTERNS, text=st.text("ab1 .c\n", max_size=12))
def test_it_finds_what_re_finds(source: str, text: str) -> None:
    """On what both can do, the answers are those of CPython's engine."""
    expected = re.compile(source.replace("$", r"\Z"), re.DOTALL).search(text) is not None

    assert expected is Pattern(source).found_in(text)


@pytest.mark.parametrize(
    "source",
    ["(a+)+$", "(a|a)*$", "(.*)*x", ".*.*.*.*.*.*x", "((a?)?)*b", "(a?)*" * 30 + "x", "a?" * 90],
)
def test_no_pattern_is_slow(source: str) -> None:
    """Patterns that take other engines years answer in far less than a second."""
    begun = time.perf_counter()
    Pattern(source).found_in("a" * 1_000_000)

    assert time.perf_counter() - begun < 1


@pytest.mark.parametrize(
    "source",
    [
        "(a",
        "a)",
        "[a",
        "[z-a]",
        "*a",
        "a**",
        "a+?",
        "a{3}",
        "(?:a)",
        "(?=a)",
        r"(a)\1",
        r"\b",
        "\\",
        "a" * (LONGEST_PATTERN + 1),
    ],
)
def test_what_it_cannot_do_is_refused_when_it_is_read(source: str) -> None:
    """Backreferences, look-around, counted and lazy repetition, and what is malformed."""
    with pytest.raises(ValueError, match="a pattern"):
        Pattern(source)


def test_only_the_beginning_of_a_key_is_looked_at() -> None:
    """An end that was not looked at is not the end."""
    assert not Pattern("x").found_in("a" * LONGEST_TEXT + "x")
    assert not Pattern("a$").found_in("a" * (LONGEST_TEXT + 1))
    assert Pattern("a$").found_in("a" * LONGEST_TEXT)


@pytest.mark.parametrize(
    ("words", "key", "expected"),
    [
        (("discord",), "agent:main:discord:1", True),
        (("discord",), "agent:main:slack:1", False),
        (("discord", "slack"), "agent:main:slack:1", True),
        (("/^agent:main:(slack|discord):/",), "agent:main:slack:1", True),
        (("/^agent:main:(slack|discord):/",), "x:agent:main:slack:1", False),
        (("/",), "a/b", True),
        (("a/b/",), "a/b/c", True),
        (("//",), "anything", True),
        ((), "anything", False),
        (("^agent:main:",), "agent:main:slack:1", True),
        (("^agent:main:",), "x:agent:main:slack:1", False),
        (("(slack|discord):",), "agent:main:discord:1", True),
        (("v1.2",), "v1.2", True),
        (("[1]",), "a[1]", True),
        ((r"c\+\+",), "agent:c++:1", True),
        (("/v1\\.2/",), "v1x2", False),
    ],
)
def test_a_word_is_a_part_of_the_key_or_a_pattern(
    words: tuple[str, ...], key: str, expected: bool
) -> None:
    """Either is enough (S1 "substring or regex"); in slashes it is a pattern only."""
    assert expected is session_filter(words)(key)


@pytest.mark.parametrize("word", ["c++", "(?:main|ops)", "a{3}", "[main", "^" * 300])
def test_a_pattern_that_cannot_be_used_is_refused(word: str) -> None:
    """It is never taken for a part of the key without a word."""
    with pytest.raises(ValueError, match=r"a pattern .* write a backslash before it"):
        session_filter((word,))

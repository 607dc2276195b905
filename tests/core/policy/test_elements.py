"""What the templates of rules take and refuse, word by word."""

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import ConfigError
from core.policy.elements import Surroundings
from core.policy.templates import ArgvTemplate

HERE = Surroundings("/srv/app")


def fits(element: str, word: str) -> bool:
    """Tell whether an element of a rule that allows takes a word."""
    return ArgvTemplate.of_rule([element]).fits([word], HERE)


def may_fit(element: str, word: str) -> bool:
    """Tell whether an element of a rule that forbids is about a word."""
    return ArgvTemplate.of_rule([element]).may_fit([word], HERE)


@pytest.mark.parametrize(
    ("element", "good", "bad"),
    [
        ("<GLOB:--force*>", ["--force", "--force-with-lease"], ["--Force", "-force", "x--force"]),
        ("<GLOB:*.py>", ["a.py", ".py", "a b.py", "\u00e9.py"], ["-a.py", "a.pyc", "a\n.py", ""]),
        ("<GLOB:?x>", ["ax"], ["-x", "x", "abx", "\u202ex"]),
        ("<GLOB:src/*/t.[ch]>", ["src/a/t.[ch]", "src//t.[ch]"], ["src/a/t.c"]),
        ("<GLOB:*>", ["a", "", "a" * 4096], ["-a", "-", "a\0", "a\tb", "a" * 4097]),
        ("<GLOB:a*b*c>", ["abc", "aXbYc", "abcbc"], ["acb", "abcX", "ab\nc"]),
    ],
)
def test_a_glob_takes_whole_printable_words(element: str, good: list[str], bad: list[str]) -> None:
    """No wildcard at its beginning takes an option; brackets and case mean themselves."""
    assert [word for word in good if not fits(element, word)] == []
    assert [word for word in bad if fits(element, word)] == []


@given(st.text("ab*?-", min_size=1, max_size=6), st.text("ab-\n", max_size=8))
def test_a_glob_agrees_with_fnmatch(pattern: str, word: str) -> None:
    """Whatever fits is what the standard library would match; a rule that forbids takes all."""
    element = f"<GLOB:{pattern}>"
    matched = fnmatchcase(word, pattern)
    assert may_fit(element, word) is matched
    assert matched or not fits(element, word)
    if matched and word.isprintable() and not word.startswith("-"):
        assert fits(element, word)


def test_a_long_word_against_many_wildcards_takes_no_long_time() -> None:
    """A rule that forbids takes an overlong word, so it is judged at once and never slips by."""
    many = "<GLOB:" + "*a" * 60 + "b>"
    assert not fits(many, "a" * 4096)
    assert may_fit(many, "a" * 200_000)


@pytest.mark.parametrize(
    ("element", "advice"),
    [
        ("<GLOB>", "<GLOB:pattern>"),
        ("<GLOB:>", "<GLOB:pattern>"),
        ("x<GLOB:a*>", "<GLOB:pattern>"),
        ("<GLOB:a><GLOB:b>", "<GLOB:pattern>"),
        ("<REST:all>", "<REST:any>"),
        ("x<REST>", "<REST:any>"),
    ],
)
def test_an_ill_written_template_says_what_to_write(element: str, advice: str) -> None:
    """The mistake stops the load and names the right form."""
    with pytest.raises(ConfigError, match=advice):
        ArgvTemplate.of_rule(["x", element])

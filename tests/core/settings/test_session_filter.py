"""Match session filters as written, with nothing that can make them slow."""

import re
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.settings.session_filter import LONGEST_PATTERN, compiled, session_filter
from tests.support.tables import rows

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

    assert expected is compiled(source)(text)


@rows(
    "source",
    [
        "(a+)+$",
        "(a|a)*$",
        "(.*)*x",
        ".*.*.*.*.*.*x",
        "((a?)?)*b",
        "(a?)*" * 30 + "x",
        "a?" * 90,
        "(a?){90}b",
        "[ab]*a[ab]{90}c",
        "((a{10}){10}){9}b",
    ],
)
def test_no_pattern_is_slow(source: str) -> None:
    """Patterns that take other engines years are answered in far less than a second."""
    begun = time.process_time()
    compiled(source)("a" * 1_000_000)

    assert time.process_time() - begun < 1


def test_the_same_pattern_is_slow_elsewhere() -> None:
    """The negative control: the engine that is not used takes ages for a millionth of the text."""
    text, passes = "a" * 21 + "b", compiled("(a+)+$")
    begun = time.process_time()
    assert not passes(text)
    ours = time.process_time() - begun
    assert re.search("(a+)+$", text) is None

    assert time.process_time() - begun > 50 * ours


@rows(
    "source",
    [
        "(a",
        "a)",
        "[a",
        "[z-a]",
        "*a",
        "a**",
        "a{1001}",
        "(a{1000}){1000}",
        "(?=a)",
        "(?<=a)b",
        r"(a)\1",
        r"\y",
        "\\",
        "a" * (LONGEST_PATTERN + 1),
    ],
)
def test_what_it_cannot_do_is_refused_when_it_is_read(source: str) -> None:
    """Backreferences, look-around, what would take too much memory, and what is malformed."""
    with pytest.raises(ValueError, match="a pattern"):
        compiled(source)


@pytest.mark.parametrize(
    ("source", "text", "expected"),
    [("a{3}", "aaa", True), ("a{3}", "aa", False), ("(?:a|b)c", "bc", True), (r"\bx", "y:x", True)],
)
def test_it_counts_and_groups(source: str, text: str, expected: bool) -> None:
    """What takes at most linear time is allowed."""
    assert expected is compiled(source)(text)


@pytest.mark.parametrize(("words", "loaded"), [(("discord",), False), (("^discord",), True)])
def test_the_engine_is_loaded_for_patterns_only(words: tuple[str, ...], loaded: bool) -> None:
    """Settings without a pattern do not pay for its start."""
    code = (
        "import sys\nfrom core.settings.session_filter import session_filter\n"
        f"session_filter({words!r})\nprint('re2' in sys.modules)"
    )
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert f"{loaded}\n" == seen.stdout


@rows(
    "words, key, expected",
    [
        (("discord",), "agent:main:discord:1", True),
        (("discord",), "agent:main:slack:1", False),
        (("discord", "slack"), "agent:main:slack:1", True),
        (("/^agent:main:(slack|discord):/",), "agent:main:slack:1", True),
        (("/^agent:main:(slack|discord):/",), "x:agent:main:slack:1", False),
        (("/",), "a/b", True),
        (("/",), "ab", False),
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


@pytest.mark.parametrize("word", ["c++", "(?=main|ops)", "a{3000}", "[main", "^" * 300])
def test_a_pattern_that_cannot_be_used_is_refused(word: str) -> None:
    """It is never taken for a part of the key without a slash."""
    with pytest.raises(
        ValueError, match=r"a pattern .* put a backslash before a special character"
    ):
        session_filter((word,))

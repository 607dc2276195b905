import json
import time

import json5
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.settings.json5_file import MAX_CHARACTERS, Document, read_json5


def told(text: str) -> list[str]:
    """Return the problems of a text, one line each."""
    return [problem.line for problem in read_json5(text, "c.json5").problems]


def test_each_key_and_item_has_its_line() -> None:
    """Lines are found through comments, quotes, nesting and trailing commas."""
    document = read_json5(
        "// {a: 1}\n"
        "{ /* b:\n"
        "2 */ tools: {exec: {\n"
        "  'ask': \"on}-{miss\", // ask: 3\n"
        "  safeBins: ['jq',\n"
        "    {x: [1]},],\n"
        "}}, }\n",
        "c.json5",
    )

    assert document.value == {
        "tools": {"exec": {"ask": "on}-{miss", "safeBins": ["jq", {"x": [1]}]}}
    }
    assert document.lines == {
        ("tools",): 3,
        ("tools", "exec"): 3,
        ("tools", "exec", "ask"): 4,
        ("tools", "exec", "safeBins"): 5,
        ("tools", "exec", "safeBins", 0): 5,
        ("tools", "exec", "safeBins", 1): 6,
        ("tools", "exec", "safeBins", 1, "x"): 6,
        ("tools", "exec", "safeBins", 1, "x", 0): 6,
    }


@pytest.mark.parametrize("text", ["", " \n", "\ufeff", "// nothing yet\n", "/* a */ // b"])
def test_nothing_is_an_empty_configuration(text: str) -> None:
    """An empty or fully commented file means the defaults."""
    assert read_json5(text, "c.json5") == Document({}, {})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("{a: 1,\n  b 2}", 'c.json5:2:5: Unexpected "2"; is a comma or bracket missing?'),
        ("{a: 1", "c.json5:1:6: Unexpected end of input; is a comma or bracket missing?"),
        ("{a: 'x\n'}", 'c.json5:1:7: Unexpected "\\n"; is a closing quote missing?'),
        ("{a: “x”}", 'c.json5:1:5: Unexpected "“"; use straight quotes'),
        ("/* a", "c.json5:1:5: Unexpected end of input; is a comma or bracket missing?"),
        ("{a: [1]} b", 'c.json5:1:10: Unexpected "b"; is a comma or bracket missing?'),
        ("{a: 1}}", 'c.json5:1:7: Unexpected "}"; is a comma or bracket missing?'),
        ("{a: 1,,}", 'c.json5:1:7: Unexpected ","; is a comma or bracket missing?'),
        ("{a: tru}", 'c.json5:1:8: Unexpected "}"; is a comma or bracket missing?'),
        ("{a: 'x", "c.json5:1:7: Unexpected end of input; is a comma or bracket missing?"),
        ("{a: 1,\n b: 1e999}", 'c.json5:2:5: "1e999" is not a number that can be read'),
        ("{a: --1}", 'c.json5:1:5: "--1" is not a number that can be read'),
    ],
)
def test_a_syntax_error_tells_line_and_column(text: str, line: str) -> None:
    """The first thing that cannot be read is named by its place."""
    assert told(text) == [line]


def test_a_duplicate_key_is_told_with_both_lines() -> None:
    """Of two equal keys one would be silently lost, however they are spelt."""
    assert told("{a: {b: 1,\n'b': 2,\n\\u0062: 3}, b: 4}") == [
        "c.json5:2: a.b: duplicate key; first defined in line 1",
        "c.json5:3: a.b: duplicate key; first defined in line 1",
    ]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("[" * 20_000, "nested too deeply"),
        ("{a: " + "9" * 5000 + "}", "too many digits"),
        (" " * MAX_CHARACTERS + "{}", "longer than 1,000,000 characters"),
    ],
)
def test_an_excessive_file_is_refused(text: str, what: str) -> None:
    """Nothing in a file can exhaust the reader."""
    (line,) = told(text)

    assert line.startswith("c.json5: ")
    assert what in line


_words = st.text(max_size=6)
_trees = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_words, inner, max_size=3),
    max_leaves=12,
)


@given(tree=st.dictionaries(_words, _trees, max_size=4), indent=st.sampled_from([None, 1]))
def test_the_scan_finds_exactly_the_librarys_keys(tree: dict[str, object], indent: int) -> None:
    """Every path of the value has a line, and no path is invented."""
    document = read_json5(json.dumps(tree, indent=indent, ensure_ascii=False), "c.json5")

    assert document.value == tree
    assert not document.problems
    assert set(document.lines) == set(paths(tree, ()))


_PIECES = (
    *("{", "}", "[", "]", ",", ":", "a", "'b'", '"c\\x41"', "-1", "0x1F", ".5", "+Infinity", "NaN"),
    *("null", "true", "// d", "/* e */", "\n", " ", "\u2028", "\\u0061", "é", "$", "#"),
)


@given(pieces=st.lists(st.sampled_from(_PIECES), max_size=14))
def test_two_libraries_read_the_same(pieces: list[str]) -> None:
    """Another reader, which shares no code, accepts the same texts and finds the same values."""
    text = "".join(pieces)
    try:
        wanted = repr(json5.loads(text))
    except ValueError:
        wanted = "refused"

    found = read_json5(text, "c.json5")

    if text.strip(" \n\u2028") and wanted != "refused":
        assert wanted == repr(found.value), text
        assert all("duplicate" in one.message for one in found.problems)
    elif wanted == "refused" and found != Document({}, {}):
        assert found.problems, text


@given(pairs=st.lists(st.tuples(st.sampled_from(["a", "b", "'a'", '"b"', "\\u0061"]), _words)))
def test_duplicates_are_those_that_the_library_refuses(pairs: list[tuple[str, str]]) -> None:
    """The scan and the library's own check agree on every object."""
    text = "{" + ",".join(f"{key}: {json.dumps(value)}" for key, value in pairs) + "}"
    try:
        json5.loads(text, allow_duplicate_keys=False)
        refused = False
    except ValueError:
        refused = True

    assert bool(read_json5(text, "c.json5").problems) == refused


def paths(value: object, path: tuple[str | int, ...]) -> list[tuple[str | int, ...]]:
    """Return the paths of all keys and items below a value."""
    children: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        children = list(value.items())
    if isinstance(value, list):
        children = list(enumerate(value))
    return [
        found for key, child in children for found in ((*path, key), *paths(child, (*path, key)))
    ]


def test_a_long_file_of_blanks_and_comments_is_read_at_once() -> None:
    """Nothing that a file may begin with makes reading it slow."""
    started = time.perf_counter()

    document = read_json5("/* a *//* b */ \n// c\n" * 5_000 + "{}", "config.json5")

    assert {} == document.value
    assert time.perf_counter() - started < 10

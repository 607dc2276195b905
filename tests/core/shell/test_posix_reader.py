"""Tell POSIX words apart without a tree in the second reader, and refuse in plain words."""

import ast
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from core.model.command import Connector, Reading, Unreadable
from core.shell import posix_reader, tree_reader
from tests.support.tables import rows

ROOT = Path(__file__).parents[3]


@rows(
    "line, argvs",
    [
        ("a", [["a"]]),
        ("a=b c", [["a=b", "c"]]),
        ("a 'b c' d", [["a", "b c", "d"]]),
        ('a "b\'c" d', [["a", "b'c", "d"]]),
        ("a 'b\"c'", [["a", 'b"c']]),
        (r'a "\a\$\"\\\`"', [["a", '\\a$"\\`']]),
        (r'a "\x\"y"', [["a", '\\x"y']]),
        (r"a \|b", [["a", "|b"]]),
        ("a''b\"\"'c'", [["abc"]]),
        ('a ""\\-x', [["a", "-x"]]),
        ("a 'x;y'|b", [["a", "x;y"], ["b"]]),
        ("a x@{0}^{b}~1", [["a", "x@{0}^{b}~1"]]),
        ("a b~c#d", [["a", "b~c#d"]]),
        (r"a b\ c\ d\ -e", [["a", "b c d -e"]]),
        ('a "b$" "$" "c$|d$/$)"', [["a", "b$", "$", "c$|d$/$)"]]),
        ("a ! -b !\t'!'", [["a", "!", "-b", "!", "!"]]),
        ("a;", [["a"]]),
    ],
)
def test_words_are_told_apart(line: str, argvs: list[list[str]]) -> None:
    """Quotes are removed as XCU 2.2 says, and connectors end a command."""
    reading = posix_reader.read(line)
    assert isinstance(reading, Reading), reading
    assert [list(argv) for argv in reading.argvs] == argvs


@rows(
    "line",
    [
        *(
            "a&b",
            "a&&&b",
            "a|||b",
            "a ||",
            "|a",
            "a;;b",
            "a&&;",
            "a=b =c",
            "=",
            "a ~b",
            "a 'b'~",
            "a b~~c[",
            "a !b",
            "a b!",
            "a b !",
            "a !;b",
            r"a \ b",
            "a b\\ ",
            "a b\\  c",
            r"a b\ >c",
            r"a b\ $HOME",
            'a "$b"',
            'a "$(b)$"',
            'a "$ b"',
            'a "$1$"',
            'a "$"$',
            "a 'b'#c",
            "a b#c#\\\n'd'#",
            "a # b\\\nc",
            "a\n&& b",
            "a\n;b",
            "a >/dev/null b",
            "a b>/dev/null",
            "a b2>&1",
            "a 2>&1b",
            "a &>/dev/null& b",
            ">/dev/null a",
            "a > b",
            "a >/dev/zero",
            "a 2> /etc/x",
            "a $HOMEb",
            "a $HOMEé",
            "a [b-]",
            "a [b-d-f]",
            "a {b}",
            "a {b,c",
            "a $HOME{b,c}",
            "a {1..1000}",
            "{a,b} c",
            "a\\\nb",
            "a; for x in b; do done c; done",
            "a $(pwd )",
            'a "$(pwd; b)"',
            "a [^b]",
            "a '",
            'a "\\"',
        )
    ],
)
def test_what_is_not_plain_is_refused(line: str) -> None:
    """Anything that the tokenizer does not know ends the reading."""
    assert isinstance(posix_reader.read(line), Unreadable)


def test_a_line_break_ends_a_command() -> None:
    """Of the words on two lines none is an argument of the other line's program."""
    assert posix_reader.read("a b\nc 'd'") == Reading((("a", "b"), ("c", "d")), (Connector.THEN,))


@given(st.lists(st.text("ab./:@%+,^-", min_size=1, max_size=5), min_size=1, max_size=6))
def test_bare_and_quoted_lines_are_read_alike(words: list[str]) -> None:
    """The short way through a line without quotes gives what the long way gives."""
    bare = posix_reader.read(" ".join(words))
    quoted = posix_reader.read("''" + words[0] + " " + " ".join(f"'{w}'" for w in words[1:]))
    assert bare == quoted == Reading((tuple(words),))


@given(st.text("ab =~#'\"\\|&;@^{}.\n\t$é*?[]<>", max_size=12))
def test_two_readers_never_give_two_readings(line: str) -> None:
    """If both readers accept, they agree: R10 is a safety net that catches nothing."""
    first, second = tree_reader.read(line), posix_reader.read(line)
    assert isinstance(first, Unreadable) or isinstance(second, Unreadable) or first == second


def test_the_readers_share_no_code() -> None:
    """Neither reader imports the other, nor any module through which both could be wrong."""
    imported = {}
    ours = ("posix_reader", "posix_braces", "posix_refusals", "posix_words")
    theirs = ("tree_reader", "tree_braces", "tree_nodes", "tree_words")
    for name in (*ours, *theirs):
        tree = ast.parse((ROOT / "core" / "shell" / f"{name}.py").read_text())
        imported[name] = {
            node.module or "core.shell"
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom)
        }
    second = set().union(*(imported[name] for name in ours))
    first = set().union(*(imported[name] for name in theirs))
    assert {name for name in second if name.startswith("core")} == {
        "core.model.command",
        "core.shell.posix_braces",
        "core.shell.posix_refusals",
        "core.shell.posix_words",
    }
    assert {name for name in second & first if name.startswith("core")} == {"core.model.command"}


def test_the_last_separator_joins_nothing() -> None:
    """A trailing ``;`` leaves no connector behind, a trailing ``&&`` no reading."""
    assert posix_reader.read("a; b;") == Reading((("a",), ("b",)), (Connector.THEN,))
    assert isinstance(posix_reader.read("a; b&&"), Unreadable)

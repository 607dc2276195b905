"""Keep the tree reader's rules on its own, whatever the second reader would have caught."""

import subprocess
import sys

from core.model.command import Connector, Reading, Unreadable
from core.shell.tree_reader import read
from tests.support.tables import rows


def test_thousands_of_links_are_read() -> None:
    """Deep nesting of lists exhausts no recursion."""
    reading = read("&&".join(["a"] * 5000))
    assert isinstance(reading, Reading)
    assert len(reading.argvs) == 5000


@rows(
    "line, rule",
    [
        ("ls\n&& rg", "R2"),
        ("ls >/dev/null b", "R4"),
        ("ls\n>/dev/null", "R4"),
        (">/dev/null", "R4"),
        ("ls a>/dev/null", "R4"),
        ("ls 2>&1x", "R4"),
        ("ls >>/dev/null", "R4"),
        ("ls >/dev/null/x", "R4"),
        ("ls 'a'#b", "R5"),
        ("ls \\ b", "R3"),
        ("l\\\ns x", "R3"),
        ("ls a\x0bb", "R3"),
        ('rg ""\\-x', "R3"),
        ("ls\n\\rg -x y", "R3"),
        ("ls # c\\\nrg", "R4"),
        ("ls &", "R4"),
        ("(ls)", "R4"),
        ("! ls", "R4"),
        ("ls > x", "R4"),
        ("export A=1", "R4"),
        ("ls <(x)", "R4"),
        ('rg $"x"', "R4"),
        ("rg $x", "R4"),
        ("rg $'x'", "R4"),
        ('rg "$x"', "R7"),
        ("ls; rg $x", "R4"),
        ('ls && rg "$x"', "R7"),
        ("for x in a; do rg $x; done; rg $x", "R4"),
        ("for x in $y; do rg $x; done", "R4"),
        ("for x in a; do $x; done", "R4"),
        ("for x in a; do rg $y; done", "R4"),
        ("A=1 ls", "R8"),
        ("rg {a}", "R5"),
        ("rg {a,{b,c}}", "R5"),
        ("rg $HOME{a,b}", "R5"),
        ("rg ~x", "R5"),
        ("rg 'a'~", "R5"),
        ("rg $HOMEx", "R4"),
        ("rg $HOMEé", "R5"),
        ("rg [a-]", "R5"),
        ("rg [!a]", "R5"),
        ("rg a]", "R5"),
        ("rg é", "R5"),
        ("rg =x", "R5"),
        ("rg @{a..b}", "R5"),
        ("rg @{.a} @{a.}", "R5"),
        ("ls 'a", "R2"),
        ("ls |", "R2"),
        ("", "R4"),
    ],
)
def test_the_rules_hold_without_the_second_reader(line: str, rule: str) -> None:
    """Without the second reader before it, the first still refuses what it must."""
    refusal = read(line)
    assert isinstance(refusal, Unreadable), refusal
    assert refusal.rule == rule


def test_lines_are_commands_one_after_the_other() -> None:
    """However blank the lines between them are; a line break in front or behind joins nothing."""
    for line in ("ls\nrg  x", "ls \n\n rg x", "\nls\nrg x\n"):
        assert read(line) == Reading((("ls",), ("rg", "x")), (Connector.THEN,))


@rows(
    "line, word",
    [
        ("rg 'a'b'c'", "abc"),
        ('rg "a"b"c"', "abc"),
        ("rg 'a\"b'", 'a"b'),
        ('rg "a\'b"', "a'b"),
        ("rg 'a''b'", "ab"),
        ("rg 'a\\b'", "a\\b"),
        ('rg "a\\\\b"', "a\\b"),
        ("rg ''", ""),
    ],
)
def test_quotes_are_removed_as_a_shell_does(line: str, word: str) -> None:
    """Those that begin and end a word need not belong together."""
    reading = read(line)
    assert isinstance(reading, Reading)
    assert reading.argvs == (("rg", word),)


def test_a_variable_is_read_in_the_loop_that_gives_it_its_values() -> None:
    """The control for those above: there, and HOME and PWD anywhere, as the first word as well."""
    lines = (
        "for x in a; do rg $x; done; ls",
        'for x in "$HOME"; do rg "$x" $PWD; done',
        "ls; $HOME/x $PWD",
    )
    assert [line for line in lines if not isinstance(read(line), Reading)] == []


def test_nothing_is_parsed_at_import() -> None:
    """Importing the reader builds no parser."""
    code = "from core.shell import reader, tree_reader as t; print(t._parser.cache_info().currsize)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "0"

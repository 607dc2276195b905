"""Accept what is plain and name the rule that anything else breaks."""

import shutil
import subprocess
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.command import (
    UNROUTED,
    Connector,
    ErrorTo,
    OpenWord,
    PartKind,
    Reading,
    Routing,
    Unreadable,
    Word,
    WordPart,
)
from core.shell import posix_reader, tree_reader
from core.shell import reader as shell
from core.shell.reader import read
from tests.support.tables import rows

PIPE, AND, OR, THEN = Connector.PIPE, Connector.AND, Connector.OR, Connector.THEN


def words(line: str) -> tuple[Word, ...]:
    """Read a line of one command and return its vector."""
    reading = read(line)
    assert isinstance(reading, Reading), reading
    assert len(reading.argvs) == 1
    return reading.argvs[0]


@rows(
    "line, argv",
    [
        ("ls", ["ls"]),
        ("  ls \t -la  ", ["ls", "-la"]),
        ("ls -la;", ["ls", "-la"]),
        ("ls -la ; ", ["ls", "-la"]),
        ('"ls" -la', ["ls", "-la"]),
        ("l''s", ["ls"]),
        (r"\ls", ["ls"]),
        (r"rg \$HOME a\;b a\&b \\ \' \"", ["rg", "$HOME", "a;b", "a&b", "\\", "'", '"']),
        (r'rg "cost: \$5" "C:\\dir" "\"" "\`"', ["rg", "cost: $5", "C:\\dir", '"', "`"]),
        (r'rg "\bfoo\.bar\d" "a\ b"', ["rg", r"\bfoo\.bar\d", r"a\ b"]),
        ("rg '' \"\"", ["rg", "", ""]),
        (r"rg a\ b.txt /x\ y/z\ 1", ["rg", "a b.txt", "/x y/z 1"]),
        ('rg "\\.py$" "^a$|^b$" "s/ *$//"', ["rg", "\\.py$", "^a$|^b$", "s/ *$//"]),
        ("find . ! -name x", ["find", ".", "!", "-name", "x"]),
        ("rg '$(x) `y` $z \\ !'", ["rg", "$(x) `y` $z \\ !"]),
        ("rg 'a\nb' \"\n c\"", ["rg", "a\nb", "\n c"]),
        ('rg "tab\there"', ["rg", "tab\there"]),
        ("rg '日本語' \"→ ✓\" 'é😀'", ["rg", "日本語", "→ ✓", "é😀"]),
        ("rg a'b'\"c\"d", ["rg", "abcd"]),
        (r"rg 'it'\''s'", ["rg", "it's"]),
        ("rg a#b a~b HEAD~1 HEAD^ main^2~3", ["rg", "a#b", "a~b", "HEAD~1", "HEAD^", "main^2~3"]),
        ("git show stash@{0} HEAD^{tree} @{u} v1^{}", None),
        ("rg --glob=x a=b x:y +%Y %1 1,2", ["rg", "--glob=x", "a=b", "x:y", "+%Y", "%1", "1,2"]),
        ("rg a{b,c}d {1..3} {08..10}", ["rg", "abd", "acd", "1", "2", "3", "08", "09", "10"]),
        ("rg {a,b}{1,2} x{,.y}", ["rg", "a1", "a2", "b1", "b2", "x", "x.y"]),
        ("find . -exec rm a{} {} \\;", ["find", ".", "-exec", "rm", "a{}", "{}", ";"]),
        ('rg "a!" "\\!" "\\─" "a\\\nb"', ["rg", "a!", "\\!", "\\─", "ab"]),
        ("rg a \\\n  b", ["rg", "a", "b"]),
        ("rg '{a,b}' '*' '~' \\* \\{a,b\\}", ["rg", "{a,b}", "*", "~", "*", "{a,b}"]),
        ("/usr/bin/time ls", ["/usr/bin/time", "ls"]),
        ("test -f x", ["test", "-f", "x"]),
    ],
)
def test_plain_words_are_read(line: str, argv: list[str] | None) -> None:
    """Each literal form gives the word that bash and dash make of it."""
    assert list(words(line)) == (argv or line.split())


@rows(
    "line, same",
    [
        ("a\nb", "a; b"),
        ("\n a\n\n b\n", "a; b"),
        ("a;\nb;\n", "a; b"),
        ("a &&\n b |\n c ||\n\td", "a && b | c || d"),
        ("# c\na # d\n# it's; rm\nb", "a; b"),
        ("a;# c\nb", "a; b"),
        ("a && # c\nb", "a && b"),
        ("a 'x\ny'\nb", "a 'x\ny'; b"),
    ],
)
def test_line_breaks_and_comments_are_read(line: str, same: str) -> None:
    """A line break ends a command, is a blank after a connector, and ends a comment."""
    assert isinstance(read(line), Reading)
    assert read(line) == read(same)


@rows(
    "redirections, routing",
    [
        ("2>&1", Routing(error=ErrorTo.OUTPUT)),
        (">/dev/null", Routing(null_output=True)),
        ("2> /dev/null", Routing(error=ErrorTo.NULL)),
        ("&>/dev/null", Routing(null_output=True, error=ErrorTo.NULL)),
        (">/dev/null 2>&1", Routing(null_output=True, error=ErrorTo.NULL)),
        ("2>&1 >/dev/null", Routing(null_output=True, error=ErrorTo.OUTPUT)),
        ("</dev/null", Routing(null_input=True)),
        ("2>/dev/null 2>&1 </dev/null", Routing(null_input=True, error=ErrorTo.OUTPUT)),
    ],
)
def test_redirections_are_followed_in_their_order(redirections: str, routing: Routing) -> None:
    """Each is taken from left to right, and belongs to the command before it."""
    assert read(f"a | b {redirections} && c") == Reading(
        (("a",), ("b",), ("c",)), (PIPE, AND), (UNROUTED, routing, UNROUTED)
    )
    assert read(f"a {redirections}\n") == Reading((("a",),), (), (routing,))


def part(kind: PartKind, text: str) -> WordPart:
    """Return one part of a word."""
    return WordPart(kind, text)


LITERAL, GLOB, TILDE = PartKind.LITERAL, PartKind.GLOB, PartKind.TILDE
VALUE, QUOTED = PartKind.VALUE, PartKind.QUOTED_VALUE


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("~", [part(TILDE, "~")]),
        ("~/'a b'", [part(TILDE, "~"), part(LITERAL, "/a b")]),
        ("$HOME/x", [part(VALUE, "HOME"), part(LITERAL, "/x")]),
        ('"a $PWD"b', [part(LITERAL, "a "), part(QUOTED, "PWD"), part(LITERAL, "b")]),
        (r'"\$HOME$HOME"', [part(LITERAL, "$HOME"), part(QUOTED, "HOME")]),
        ("a''*[b_1]?", [part(LITERAL, "a"), *(part(GLOB, glob) for glob in ("*", "[b_1]", "?"))]),
        ("'*'*", [part(LITERAL, "*"), part(GLOB, "*")]),
    ],
)
def test_expansions_are_kept_apart_from_text(word: str, parts: list[WordPart]) -> None:
    """What is to be expanded is distinguished from the same characters in quotes."""
    assert words(f"ls {word}") == ("ls", OpenWord(tuple(parts)))


@pytest.mark.parametrize(
    "line",
    ["ls '*' \\* \"?\" '[a]'", "ls '~' \"~\" a~ \\~", 'ls "*"x x"[a]"', "ls '$HOME' \\$HOME"],
)
def test_quotes_keep_expansions_from_happening(line: str) -> None:
    """A quoted or escaped character stands for itself."""
    assert all(isinstance(word, str) for word in words(line))


@rows(
    "line",
    [
        *("cd a && ls", "cd a; ls", "cd a\nls", "x; cd a && ls; y", "x && cd a && y | z"),
        *("cd ~/x && ls", 'cd "$HOME/a b" && ls', "cd a && cd b && ls", "cd a && x || y"),
    ],
)
def test_cd_is_read_where_it_is_certain(line: str) -> None:
    """A step stays in the reading, so that people are shown it as it was written."""
    reading = read(line)
    assert isinstance(reading, Reading)
    assert "cd" in {argv[0] for argv in reading.argvs}


@pytest.mark.parametrize(
    ("line", "connectors"),
    [
        ("a | b", [PIPE]),
        ("a|b|c && d || e; f", [PIPE, PIPE, AND, OR, THEN]),
        ("a;b;", [THEN]),
        ("a&&b||c|d", [AND, OR, PIPE]),
        ("a | b && c | 'd'", [PIPE, AND, PIPE]),
    ],
)
def test_connectors_are_read_in_order(line: str, connectors: list[Connector]) -> None:
    """The flat order of connectors is exact, however the grammar nests them."""
    reading = read(line)
    assert isinstance(reading, Reading)
    assert list(reading.connectors) == connectors
    assert len(reading.argvs) == len(connectors) + 1


@rows(
    "line, rule, detail",
    [
        ("", "R2", "empty"),
        (" \t", "R2", "empty"),
        (";", "R2", "empty"),
        ("ls &&", "R2", "connector"),
        ("ls ;; ls", "R2", "connector"),
        ("; ls", "R2", "connector"),
        ("ls | ;", "R2", "connector"),
        ("ls 'a", "R2", "single quote"),
        ('ls "a', "R2", "double quote"),
        ("ls\n&& rm", "R2", "connector"),
        ("ls\n;rm", "R2", "connector"),
        ("ls\n\r\nrm", "R1", "U+000D"),
        ("ls a\rb", "R1", "U+000D"),
        ("ls 'a\0b'", "R1", "U+0000"),
        ("ls 'a\x1b[2J'", "R1", "U+001B"),
        ("ls 'a\x7f'", "R1", "U+007F"),
        ("ls \ud800", "R1", "UTF-8"),
        ("ls 'a\u200bb'", "R5", "U+200B"),
        ("ls 'a\u202eb'", "R5", "U+202E"),
        ("ls 'a\u00a0b'", "R5", "U+00A0"),
        ("ls 'a\u2028b'", "R5", "U+2028"),
        ("ls 'a\u3164b'", "R5", "U+3164"),
        ("ls 'a\u2800b'", "R5", "U+2800"),
        ("ls 'a\ufe0fb'", "R5", "U+FE0F"),
        ("ls 'a\ue000b'", "R5", "U+E000"),
        ("ls 'a\U000e0041b'", "R5", "U+E0041"),
        ("ls $x", "R4", "$ expansion"),
        ("ls `x`", "R4", "backquote"),
        ("ls > x", "R4", "redirection"),
        ("ls 2>/dev/zero", "R4", "redirection"),
        ("ls >/dev/null x", "R4", "last of its command"),
        (">/dev/null ls", "R4", "redirection"),
        ("ls | >/dev/null", "R4", "before the program's name"),
        ("ls >/dev/null/../x", "R4", "redirection"),
        ("ls >&2", "R4", "redirection"),
        ("ls 2>&1x", "R4", "redirection"),
        ("ls x2>/dev/null", "R4", "redirection"),
        ("ls &>/dev/null &", "R4", "background"),
        ("cat <<E\nx\nE", "R4", "redirection"),
        ("ls &", "R4", "background"),
        ("ls |& rg", "R4", "background"),
        ("(ls)", "R4", "parenthesis"),
        ("! ls", "R4", "exclamation"),
        ("ls é", "R5", "non-ASCII"),
        ("l\u0455 -la", "R5", "non-ASCII"),
        ("*.py", "R8", "not certain"),
        ("a* x", "R8", "not certain"),
        ("x=$HOME ls", "R8", "not certain"),
        ("x$HOME", "R8", "not certain"),
        ('ls ""=curl', "R5", "what may be empty"),
        ("ls ''=\\b", "R5", "what may be empty"),
        ('ls "$HOME"=ls', "R5", "what may be empty"),
        ('for x in ""; do ls ${x}=ls; done', "R5", "what may be empty"),
        ('for x in ""; do ls $x~/a; done', "R5", "what may be empty"),
        ('a || echo "$(pwd)$?"', "R4", "next to a substitution"),
        ('a; echo $? "$(pwd)"', "R4", "next to a substitution"),
        ("ls [a-]", "R5", "bracket"),
        ("ls [a-b-c]", "R5", "bracket"),
        ("ls [!b]", "R5", "bracket"),
        ("ls a]", "R5", "bracket"),
        ("ls {a}", "R5", "brace"),
        ("ls {a,{b,c}}", "R5", "brace"),
        ("ls {a,b}}", "R5", "brace"),
        ("ls {,a}", "R5", "brace"),
        ("ls {1..101}", "R5", "brace"),
        ("ls {01..5}", "R5", "brace"),
        ("ls {a..c}", "R5", "brace"),
        ("ls {a,b}{}", "R5", "brace"),
        ("ls $HOME{a,b}", "R5", "brace"),
        ("ls ~{a,b}", "R5", "tilde"),
        ("{ls,-l} x", "R5", "brace"),
        ("{} x", "R8", "no program"),
        ("ls $(pwd -P)", "R4", "expansion"),
        ('ls "$(pwd;ls)"', "R7", "expansion"),
        ("ls a\\\nb", "R3", "backslash"),
        ("ls a{b}", "R5", "brace"),
        ("ls ~x", "R5", "tilde"),
        ("ls ~'/x'", "R5", "tilde"),
        ("ls 'a'~", "R5", "tilde"),
        ("ls ${HOME}", "R4", "$ expansion"),
        ("ls $HOMEx", "R4", "$ expansion"),
        ("ls $OLDPWD", "R4", "$ expansion"),
        ('ls "$HOMEx"', "R7", "$ expansion"),
        ("ls x=~", "R5", "tilde"),
        ("ls a:~b", "R5", "tilde"),
        ("ls 'a'#x", "R5", "comment"),
        ("ls # x\\\nrm", "R5", "comment"),
        ("# x", "R2", "empty"),
        ("ls =curl", "R5", "begins with ="),
        ("ls \\ b", "R3", "backslash"),
        ("ls b\\", "R3", "backslash"),
        ("ls \\é", "R3", "backslash"),
        ('rg ""\\-x', "R3", "without a blank"),
        ('ls "$x"', "R7", "$ expansion"),
        ('ls "`x`"', "R7", "backquote"),
        ('ls "\\\t"', "R7", "backslash"),
        ("A=1 ls", "R8", "assignment"),
        ("1=2 ls", "R8", "assignment"),
        ("'' ls", "R8", "name"),
        ("^a^b", "R8", "name"),
        ("%1", "R8", "name"),
        ("time ls", "R9", "time"),
        ("ls | eval 'x'", "R9", "eval"),
        ("'if' x", "R9", "if"),
        ("cd /tmp | ls", "R9", "cd"),
        ("cd && ls", "R9", "cd"),
        ("cd - && ls", "R9", "cd"),
        ("cd -P x && ls", "R9", "cd"),
        ("cd a b && ls", "R9", "cd"),
        ("cd '' && ls", "R9", "cd"),
        ("cd //x && ls", "R9", "cd"),
        ("cd a* && ls", "R9", "cd"),
        ("cd a | ls", "R9", "pipeline"),
        ("ls | cd a && x", "R9", "pipeline"),
        ("cd a || ls", "R9", "||"),
        ("ls || cd a && x", "R9", "||"),
        ("x && cd a; ls", "R9", "may not be taken"),
        ("x && cd a && y || z", "R9", "may not be taken"),
        ("ls || cd a", "R9", "next to"),
        ("for f in a; do ls; done | cat", "R9", "before a connector"),
        ("for f in a; do ls; done && x", "R9", "before a connector"),
        ("ls && for f in a; do ls; done", "R9", "after a connector"),
        ("ls | for f in a; do ls; done", "R9", "after a connector"),
        ("for f in a; do cd $f; done", "R9", "inside a loop"),
        ("for path in a; do ls; done", "R9", "zsh"),
        ("for f in a; do $f; done", "R4", "expansion"),
        ("for f in a; do $f/x; done", "R4", "expansion"),
        ("for f in a; do ls $g; done", "R4", "expansion"),
        ("for f in a; do ls; done; ls $f", "R4", "expansion"),
        ("for HOME in a; do ls; done", "R4", "loop"),
        ("for IFS in a; do ls; done", "R4", "loop"),
        ("for f in a; do ls; done 2>/dev/null", "R4", "redirection"),
        ("for f in a; do for g in b; do ls; done; done", "R4", "loop"),
        ("for f in a; do ls & done", "R4", "background"),
        ("for f; do ls; done", "R4", "loop"),
        ("for f in a; do ls", "R9", "own word for"),
        ("for f in a; do ls; break; done", "R9", "own word break"),
        (". ./x", "R9", "own word ."),
        ("test -v 'a[$(x)]'", "R9", "test"),
        ("test x -a -R y", "R9", "test"),
        ("printf -va x", "R9", "printf"),
        ("kill %1", "R9", "kill"),
        ("kill *", "R9", "kill"),
        ("test -v$HOME", "R9", "test"),
    ],
)
def test_the_broken_rule_is_named(line: str, rule: str, detail: str) -> None:
    """A line outside the grammar is unreadable, with its rule and a phrase for a person."""
    refusal = read(line)
    assert isinstance(refusal, Unreadable), refusal
    assert refusal.rule == rule
    assert detail in refusal.detail


ORDINARY = frozenset(["echo", "false", "kill", "printf", "pwd", "test", "true"])
"""Builtins that also exist as programs of the same meaning; the program is what runs."""


@pytest.mark.parametrize("name", sorted(ORDINARY))
def test_ordinary_programs_are_read_though_shells_have_them_too(name: str) -> None:
    """A builtin that is also a program of the same meaning is read: the program runs."""
    assert words(f"{name} x") == (name, "x")


def test_every_word_of_bash_is_ordinary_or_refused() -> None:
    """No builtin or reserved word of the installed bash is taken for a program."""
    listed = subprocess.run(
        ["/bin/bash", "-c", "compgen -bk"], check=True, capture_output=True, text=True
    ).stdout.split()
    assert len(listed) > 60
    unknown = set(listed) - ORDINARY
    assert [n for n in sorted(unknown - {"cd"}) if isinstance(read(f"{n} x"), Reading)] == []


@rows("name", sorted(shell._SHELL_WORDS))
def test_shell_words_are_refused_in_each_place(name: str) -> None:
    """The shell's own words are refused at the start, but not later, quoted or as arguments."""
    for line in (f"{name} x", f"ls | {name}", f"ls && {name} x; ls", f"'{name}' x"):
        assert isinstance(read(line), Unreadable)
    assert words(f"rg '{name}'") == ("rg", name)


def test_a_long_line_is_refused_by_its_bytes() -> None:
    """The limit is 16 KiB of UTF-8, and the last byte within it is still read."""
    longest = "ls " + "a" * (shell.MAX_BYTES - 3)
    assert isinstance(read(longest), Reading)
    assert read(longest + "a") == Unreadable("R1", "a line longer than 16 KiB")
    wide = "ls '" + "日" * (shell.MAX_BYTES // 3) + "'"
    assert read(wide) == Unreadable("R1", "a line longer than 16 KiB")


def test_a_line_of_many_commands_is_refused() -> None:
    """The number of commands is bounded, which bounds the grammar's ambiguity with pipes."""
    assert isinstance(read("|".join(["a"] * shell.MAX_COMMANDS)), Reading)
    refusal = read("|".join(["a"] * (shell.MAX_COMMANDS + 1)))
    assert isinstance(refusal, Unreadable)
    assert refusal.rule == "R1"


@given(st.text(st.characters(codec=None), max_size=40))
def test_any_text_is_answered(text: str) -> None:
    """Whatever the text, the answer is a reading or a refusal, never an exception."""
    answer = read(text)
    assert isinstance(answer, Reading | Unreadable)


@given(st.text("ls \t\n'\"\\|&;#~^{}@=a0.$é*?[]<>", max_size=14))
def test_any_syntax_is_answered_alike_twice(text: str) -> None:
    """The reader is a function of its text alone, and a reading is never hollow."""
    answer = read(text)
    assert answer == read(text)
    if isinstance(answer, Reading):
        assert all(answer.argvs)
        assert len(answer.connectors) == len(answer.argvs) - 1


@pytest.mark.parametrize("reader", [posix_reader, tree_reader])
def test_a_reading_needs_both_readers(reader: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    """If one reader errs, the other contradicts it: the line is unreadable."""
    honest = reader.read
    monkeypatch.setattr(reader, "read", lambda text: honest(text.replace("b", "c")))
    assert read("a b") == Unreadable("R10", "two readers disagree")


def test_a_reading_that_is_written_otherwise_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What people are shown must read back as what would run."""
    monkeypatch.setattr(shell, "quote_reading", lambda reading: "a c")
    assert read("a b") == Unreadable("R10", "two readers disagree")


def test_the_shells_of_the_proof_are_installed() -> None:
    """The fuzz and these tests need bash and dash; they fail here rather than skip there."""
    assert shutil.which("bash")
    assert shutil.which("dash")

"""Render every character for what it is."""

import re
import shlex
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.model.command import Connector, ErrorTo, PinnedDirectory, Routing
from core.text.render import (
    Redacted,
    command_text,
    join,
    own_lines,
    phrase,
    printed,
    redact,
    shell_statement,
    show_argv,
    show_command,
)
from tests.contracts.channel_examples import plan
from tests.support.hidden_characters import hidden
from tests.support.tables import rows

_ANY = st.text(st.characters(exclude_categories=()), max_size=60)


@given(_ANY, st.booleans(), st.booleans())
def test_nothing_hidden_is_ever_shown(text: str, multiline: bool, strict: bool) -> None:
    """No control, format, bidi, blank, private or unassigned character survives; nor emptiness."""
    shown = redact(text, multiline=multiline, strict=strict).text

    assert not [letter for letter in shown if hidden(letter)]
    assert multiline or "\n" not in shown
    assert bool(shown.strip()) == bool(text)
    shown.encode("utf-8")


@rows(
    "text",
    [
        "echo {key}\n/tmp/planted/program\n",
        "if true; then\n{key}\n/tmp/planted/program\nfi",
        "cat k; {key}\n/tmp/planted/program",
    ],
)
def test_a_path_among_the_lines_of_a_key_is_shown_where_it_would_run(text: str) -> None:
    """A line of a key can be the path of a program; in quotes or a document it is not run."""
    key = "-----BEGIN " + "PRIVATE KEY-----"
    code = text.replace("{key}", key)
    assert "/tmp/planted/program" in redact(code, multiline=True, code=True).text
    assert "/tmp/planted/program" in show_argv(("sh", "-c", code)).text

    quoted = f"echo '{key}\nMIIE/tmp/planted/program'; cat <<E\n{key}\nMIIE/tmp/planted/program\nE"
    assert "planted" not in redact(quoted, multiline=True, code=True).text
    assert "planted" not in show_argv(("sh", "-c", quoted)).text


@given(_ANY)
def test_two_texts_never_look_alike(text: str) -> None:
    """Rendering can be undone, so no two commands look the same (secrets aside)."""
    shown = redact(text, multiline=True).text
    if "[secret: " in shown:
        return

    assert _undone(shown) == text


def _undone(shown: str) -> str:
    broken = re.sub("(\u23ce(?:\\\\u\\{\u00d7\\d+\\})?)\n", "\\1", shown)
    counted = re.sub(
        "(\\\\u\\{[0-9A-F]+\\}|\u23ce)\\\\u\\{\u00d7(\\d+)\\}",
        lambda match: match[1] * int(match[2]),
        broken,
    )
    plain = counted.replace("\u23ce", "\n")
    return re.sub(r"\\u\{([0-9A-F]+)\}", lambda match: chr(int(match[1], 16)), plain)


@rows(
    "text, shown",
    [
        ("a\u202eb", "a\\u{202E}b"),
        ("a\tb", "a\\u{0009}b"),
        ("a\rb", "a\\u{000D}b"),
        ("a\nb", "a\\u{000A}b"),
        ("\x9b2K", "\\u{009B}2K"),
        ("\ud83d", "\\u{D83D}"),
        ("\U000e0041", "\\u{E0041}"),
        ("ls\u00a0x", "ls\\u{00A0}x"),
        ("  ", "\\u{0020}\\u{0020}"),
        ("a" + " " * 40 + "b", "a\\u{0020}\\u{\u00d740}b"),
        ("\u3164" * 9, "\\u{3164}\\u{\u00d79}"),
        ("\\u{202E}", "\\u{005C}u{202E}"),
        ("[secret: x]", "\\u{005B}secret: x]"),
        ("caf\u00e9", "caf\u00e9"),
        ("cafe\u0301", "cafe\\u{0301}"),
        (
            "\u043d\u0430\u0448 \u0444\u0430\u0439\u043b",
            "\u043d\u0430\u0448 \u0444\u0430\u0439\u043b",
        ),
        ("p\u0430ypal", "p\\u{0430}ypal"),
        ("\u0441\u043e\u0440", "\\u{0441}\\u{043E}\\u{0440}"),
        ("a\u2013b", "a\\u{2013}b"),
        ("README\u4e2d\u6587", "README\u4e2d\u6587"),
        ("\U0001f600", "\U0001f600"),
        ("\u05d0b", "\\u{05D0}b"),
        ("\u2502\u23ce\u2026", "\\u{2502}\\u{23CE}\\u{2026}"),
    ],
)
def test_what_is_shown(text: str, shown: str) -> None:
    """Examples of each kind of character."""
    assert redact(text).text == shown


def test_strict_is_ascii() -> None:
    """Names show nothing outside ASCII."""
    assert redact("caf\u00e9", strict=True).text == "caf\\u{00E9}"


def test_lines_of_our_own_have_no_mark() -> None:
    """They break as they are; everything else in them is shown as it is, and output ends it."""
    assert own_lines("one\n\ntwo\x1b[0m").text == "one\n\ntwo\\u{001B}[0m"
    assert printed("one\ntwo\n\n").text == "one\ntwo"
    assert printed("x" * 9 + "\nlast", most=6).text == "…x\nlast"


def test_a_line_feed_is_marked_before_the_line_breaks() -> None:
    """A soft wrap never passes for a line feed."""
    assert redact("a\nb", multiline=True).text == "a\u23ce\nb"
    assert redact("a" + "\n" * 9 + "b", multiline=True).text == "a\u23ce\\u{\u00d79}\nb"


@given(st.lists(st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126))))
def test_printable_vectors_read_back_as_they_are(argv: list[str]) -> None:
    """A shell reads the shown text as the same vector (escapes and secrets aside)."""
    shown = show_argv(tuple(argv)).text
    if "\\u{" in shown or "[secret: " in shown:
        return

    assert shlex.split(shown) == argv


@rows(
    "argv, shown",
    [
        (("rm", "-rf", "a b"), "rm -rf 'a b'"),
        (("rm", "-rf", ""), "rm -rf ''"),
        (("echo", "it's"), "echo 'it'\\''s'"),
        (("A=1", "x"), "'A=1' x"),
        (("if", "x"), "'if' x"),
        (("ls", "~", "#", "*"), "ls '~' '#' '*'"),
        (("l\u0455",), "'l\\u{0455}'"),
        (("mysql", "--password", "hunter2"), "mysql --password [secret: secret]"),
        (("mysql", "--password=hunter2"), "mysql --password=[secret: secret]"),
        (("sh", "-c", "a\nb"), "sh -c 'a\u23ce\nb'"),
    ],
)
def test_bounds_of_arguments_are_visible(argv: tuple[str, ...], shown: str) -> None:
    """Each element of a vector can be told from the next."""
    assert show_argv(argv).text == shown


def test_several_commands_are_numbered_with_what_joins_them() -> None:
    """One line per command; a line feed in an argument cannot begin a numbered line."""
    of = plan(("ls", "-la"), ("sh", "-c", "x\n3. rm"), connector=Connector.PIPE)

    lines = command_text(of).text.split("\n")

    assert lines == ["1. ls -la", "2. | sh -c 'x\u23ce", "   \u2506 3. rm'"]


def test_an_unreadable_line_is_shown_exactly_with_the_statement_about_its_shell() -> None:
    """Blanks stay as they are, and the reader learns that a shell runs it and why."""
    of = plan(text="echo  $(id)")

    assert command_text(of) == Redacted("echo  $(id)")
    assert show_command(of).text.startswith("echo  $(id)\n\nA shell will run this text")
    assert "a substitution" in shell_statement(of).text
    assert "R7" not in shell_statement(of).text


def test_a_readable_line_has_no_statement() -> None:
    """No shell runs a plan of vectors."""
    of = plan(("ls",))

    assert show_command(of) == command_text(of) == Redacted("ls")
    assert shell_statement(of).text == ""


def test_values_with_braces_are_safe_in_phrases() -> None:
    """A value is never used as a format."""
    assert phrase("by {}", redact("{0.text}")).text == "by {0.text}"
    assert join(", ", (redact("a"), redact("b"))).text == "a, b"


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        ("ls # as the tests need", ("ls",)),
        ("ls '#a' # and more", ("ls", "#a")),
        ("# only to look\nls", ("ls",)),
    ],
)
def test_a_comment_is_shown_in_full(text: str, argv: tuple[str, ...]) -> None:
    """The requester may say why; it runs nothing, and is not hidden from the approver."""
    shown = command_text(replace(plan(argv), text=text)).text

    assert f"asked as: {text}" == shown.partition("\n")[2].replace("\u23ce\n   \u2506 ", "\n")


def test_a_mark_that_begins_no_comment_adds_nothing() -> None:
    """Quoted, escaped and inside a word it is an argument, which is already shown."""
    of = replace(plan(("ls", "#a", "b#c", "#d")), text="ls '#a' b#c \\#d")

    assert "ls '#a' 'b#c' '#d'" == command_text(of).text


def test_what_was_expanded_stands_beside_what_was_asked() -> None:
    """Folders and redirections are shown, and no argument can be taken for either."""
    of = replace(plan(("ls", "a b", "(in /x)", "2>&1")), text="cd src && ls * 2>&1\n")
    moved = replace(
        of.commands[0],
        cwd=PinnedDirectory("/w/src", 1, 1),
        routing=Routing(error=ErrorTo.OUTPUT),
    )

    lines = command_text(replace(of, commands=(moved,))).text.split("\n")

    assert lines == [
        "1. ls 'a b' '(in /x)' '2>&1' 2>&1   (in /w/src)",
        "asked as: cd src && ls * 2>&1\u23ce",
        "   \u2506 ",
    ]

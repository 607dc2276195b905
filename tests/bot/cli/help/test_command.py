"""Show help on commands and topics with `sayso help`; report what it does not know."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import build_parser, main
from bot.cli.help.man import commands
from bot.cli.help.topics import TOPICS
from tests.support.gateway_process import ROOT

_CODES = re.compile(r"\((?:S|R|H)\d|\bR\d+:")


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((), "Start here:"),
        (("people", "add"), "usage: sayso people add"),
        (("approvals", "allowlist", "add"), "usage: sayso approvals allowlist add"),
        (("exit-codes",), "  3  denied, refused, or not answered in time"),
        (("environment",), "SAYSO_HOME"),
    ],
)
def test_help_is_shown(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], shown: str
) -> None:
    """Of all, of a command at any depth, and of a topic; for a script as the one key of JSON."""
    assert main(["help", *words]) == 0
    text = capsys.readouterr().out
    assert shown in text
    assert main(["help", *words, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"text": text}


def test_every_topic_has_text(capsys: pytest.CaptureFixture[str]) -> None:
    """A title, and a table or a text."""
    for topic in TOPICS:
        assert main(["help", topic]) == 0
        assert len(capsys.readouterr().out) > 60


def test_no_such_topic(capsys: pytest.CaptureFixture[str]) -> None:
    """With what was probably meant."""
    assert main(["help", "exitcodes"]) == 2
    told = capsys.readouterr().err
    assert "did you mean 'exit-codes'?" in told
    assert "commands: see `sayso help`" in told


def test_the_first_screen_names_every_topic(capsys: pytest.CaptureFixture[str]) -> None:
    """No one has to guess what `sayso help` knows besides commands."""
    main(["help"])
    start = capsys.readouterr().out.partition("\n\nThe gateway:")[0]
    assert [topic for topic in TOPICS if topic not in start] == []


def test_messages_name_no_chapter_of_the_design(capsys: pytest.CaptureFixture[str]) -> None:
    """Readers of help texts and refusals have never seen the codes of seeds and rules."""
    texts = [parser.format_help() for parser in commands(build_parser())]
    for topic in TOPICS:
        main(["help", topic])
        texts.append(capsys.readouterr().out)

    assert [text for text in texts if _CODES.search(text)] == []


def test_no_string_of_the_product_names_one() -> None:
    """The same for every string that is not a docstring; the control: the pattern finds codes."""
    found = [
        f"{path}: {text}"
        for folder in ("bot", "channels", "core")
        for path in (ROOT / folder).rglob("*.py")
        for text in strings(path)
        if _CODES.search(text)
    ]

    assert found == []
    assert _CODES.search("lists only (S4)")
    assert _CODES.search("R7: a substitution")


def strings(path: Path) -> Iterator[str]:
    """Yield the strings of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.value

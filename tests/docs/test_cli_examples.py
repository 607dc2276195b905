"""Check that the examples in each command's help are accepted by its own parser."""

import re
import shlex
from collections.abc import Iterator
from itertools import takewhile

import pytest

from bot.cli import build_parser, with_send
from tests.docs.blocks import ROOT, shown

PAGE = ROOT / "docs" / "reference" / "cli.md"
_LINE = re.compile(r"""(?:'[^']*'|"[^"]*"|[^'"\s]|\s(?!\s))+""")
"""An example up to the blanks before its comment."""


def examples() -> list[list[str]]:
    """Return the words of each example of the page, up to a pipe or a redirection."""
    text = "\n".join(one.text for one in shown(PAGE))
    lines = [line.strip() for line in re.sub(r"\\\n\s*", "", text).splitlines()]
    found = [_LINE.match(line) for line in lines if line.startswith("sayso ")]
    return [list(_own(one[0])) for one in found if one]


def _own(line: str) -> Iterator[str]:
    reader = shlex.shlex(line, posix=True, punctuation_chars="|&<>")
    reader.commenters = ""
    reader.whitespace_split = True
    return takewhile(lambda word: not set(word) <= set("|&<>"), reader)


def test_examples_are_accepted() -> None:
    """No example has an option or a word that its command refuses."""
    refused = []
    parser = build_parser()
    for words in examples():
        try:
            parser.parse_args(with_send(words[1:]))
        except SystemExit as end:
            if end.code:
                refused.append(words)
    assert refused == []
    assert len(examples()) > 60


def test_a_wrong_example_is_refused() -> None:
    """The negative control."""
    with pytest.raises(SystemExit):
        build_parser().parse_args(["run", "--no-such-option"])

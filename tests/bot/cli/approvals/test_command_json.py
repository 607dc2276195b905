"""Say to a script, as JSON, what a change did to the approvals file."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from bot.cli.approvals import command


class Entry(NamedTuple):
    """An entry as it was added."""

    id: str
    pattern: str
    words: str


class Writer:
    """A file that takes every change."""

    def replace(self, text: str) -> None:
        """Take a text."""

    def lint(self) -> tuple[str, ...]:
        """Warn of one thing."""
        return ("too wide",)

    def add(self, _agent: str, pattern: str, argv: tuple[str, ...] | None) -> Entry:
        """Add an entry."""
        return Entry("e1", pattern, " ".join((pattern, *(argv or ()))))

    def remove(self, _agent: str, _pattern: str) -> bool:
        """Remove an entry."""
        return True


@pytest.mark.parametrize(
    ("change", "argv", "said"),
    [
        (command.put, None, {"warnings": ["too wide"]}),
        (command.add, None, {"agent": "a", "id": "e1", "pattern": "/bin/x"}),
        (command.add, ["y"], {"agent": "a", "id": "e1", "pattern": "/bin/x", "argv": ["y"]}),
        (command.remove, None, {"removed": True}),
    ],
)
def test_what_a_change_says_as_json(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    change: Callable[[argparse.Namespace], int],
    argv: list[str] | None,
    said: dict[str, object],
) -> None:
    """A script reads nothing else from it."""
    monkeypatch.setattr(command, "_writer", lambda _: Writer())
    text = tmp_path / "new.json"
    text.write_text("{}")
    args = argparse.Namespace(
        agent="a",
        pattern="/bin/x",
        argv=argv,
        dry_run=False,
        node=None,
        json=True,
        stdin=False,
        file=text,
    )

    assert change(args) == 0
    assert json.loads(capsys.readouterr().out) == said

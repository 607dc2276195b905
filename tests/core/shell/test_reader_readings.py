"""Refuse or correctly read each line on which a parser and a shell were seen to disagree."""

import json
from pathlib import Path

from core.model.command import Connector, Reading, Unreadable
from core.planning.expand import ExpandedLine, expand
from core.shell.reader import read
from tests.support.tables import rows

CORPUS = Path(__file__).parents[2] / "corpus"
READINGS = json.loads((CORPUS / "shell_readings.json").read_text())
COMMANDS = json.loads((CORPUS / "commands.json").read_text())

BENIGN = frozenset(
    ["benign-simple", "benign-quoting", "benign-chain", "benign-safe-bin", "benign-trusted"]
)
NEVER_READ = frozenset(
    [
        *("arithmetic-subscript", "assignment-prefix", "builtin-state", "command-substitution"),
        *("compound-syntax", "glob-brace-tilde", "heredoc", "homoglyph-unicode"),
        *("malformed-input", "newline-control", "parameter-expansion", "process-substitution"),
        "redirection",
    ]
)
READ_AND_JUDGED = frozenset(
    [
        *("ls\ntouch /tmp/gate_canary", "ls -la\n\n\ntouch /tmp/gate_canary"),
        *("ls # harmless listing\ntouch /tmp/gate_canary # done", "\n\ntouch /tmp/gate_canary"),
        *("head *", "head .e?v", "head $HOME/.ssh/id_rsa", "chown user *"),
    ]
)
"""Lines that are read, and then need an answer for what they run (``test_policy_corpus.py``)."""


def ran_when_all_succeed(line: str) -> list[list[str]] | None:
    """List the vectors that run when each program exits 0, as the corpus was recorded."""
    reading = read(line)
    if isinstance(reading, Unreadable):
        return None
    expanded = expand(reading, "/", "/home/u")
    if not isinstance(expanded, ExpandedLine):
        return None
    ran = [list(expanded.commands[0].argv)]
    skipping = False
    for connector, command in zip(expanded.connectors, expanded.commands[1:], strict=True):
        if connector is not Connector.PIPE:
            skipping = connector is Connector.OR
        if not skipping:
            ran.append(list(command.argv))
    return ran


@rows("entry", READINGS)
def test_a_recorded_disagreement_is_refused_or_read_as_both_shells_do(
    entry: dict[str, object],
) -> None:
    """A reading must contain what bash and dash ran; else the line must be unreadable.

    dash knows no lists in braces; these are read as in bash.
    """
    ran = ran_when_all_succeed(str(entry["input"]))
    if ran is not None:
        assert ran == entry["bash_argv_lists"]
        assert ran == entry["dash_argv_lists"] or "{a,b}" in str(entry["input"])


def test_the_recorded_disagreements_are_all_here() -> None:
    """The corpus was not emptied, and nearly all of it is refused."""
    answers = [ran_when_all_succeed(entry["input"]) for entry in READINGS]
    assert len(answers) >= 70
    assert answers.count(None) >= len(answers) - 8


@rows("line", [e["command"] for e in COMMANDS if e["class"] in BENIGN and "command" in e])
def test_benign_lines_are_read(line: str) -> None:
    """A harmless line of the corpus is readable, so that policy may allow it."""
    assert isinstance(read(line), Reading)


@rows(
    "line",
    [
        e["command"]
        for e in COMMANDS
        if e["class"] in NEVER_READ and e.get("command") not in {None, *READ_AND_JUDGED}
    ],
)
def test_lines_that_need_a_shell_are_never_read(line: str) -> None:
    """Substitutions, redirections, assignments, builtins and trick bytes stay unreadable."""
    assert isinstance(read(line), Unreadable)


@rows("line", sorted(READ_AND_JUDGED))
def test_lines_that_hide_nothing_are_read(line: str) -> None:
    """Line breaks, comments and plain expansions show what runs, so policy judges just that."""
    assert isinstance(read(line), Reading)
    assert line in {entry.get("command") for entry in COMMANDS}

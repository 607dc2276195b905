"""Each line on which a parser and a shell were seen to disagree is refused or read rightly."""

import json
from pathlib import Path

import pytest

from core.model.command import Connector, Reading, Unreadable
from core.policy.shell import read

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


def ran_when_all_succeed(reading: Reading) -> list[list[str]]:
    """List the vectors that run when each program exits 0, as the corpus was recorded."""
    ran = [list(reading.argvs[0])]
    skipping = False
    for connector, argv in zip(reading.connectors, reading.argvs[1:], strict=True):
        if connector is not Connector.PIPE:
            skipping = connector is Connector.OR
        if not skipping:
            ran.append(list(argv))
    return ran


@pytest.mark.parametrize("entry", READINGS, ids=lambda entry: repr(entry["input"]))
def test_a_recorded_disagreement_is_refused_or_read_as_both_shells_do(
    entry: dict[str, object],
) -> None:
    """A reading must hold what bash and what dash ran; else the line must be unreadable."""
    answer = read(str(entry["input"]))
    if isinstance(answer, Reading):
        ran = ran_when_all_succeed(answer)
        assert ran == entry["bash_argv_lists"]
        assert ran == entry["dash_argv_lists"]


def test_the_recorded_disagreements_are_all_here() -> None:
    """The corpus was not emptied, and nearly all of it is refused."""
    answers = [read(entry["input"]) for entry in READINGS]
    assert len(answers) >= 70
    assert sum(isinstance(answer, Unreadable) for answer in answers) >= len(answers) - 4


@pytest.mark.parametrize(
    "line", [e["command"] for e in COMMANDS if e["class"] in BENIGN and "command" in e]
)
def test_benign_lines_are_read(line: str) -> None:
    """A harmless line of the corpus is readable, so that policy may allow it."""
    assert isinstance(read(line), Reading)


@pytest.mark.parametrize(
    "line",
    [e["command"] for e in COMMANDS if e["class"] in NEVER_READ and "command" in e],
    ids=repr,
)
def test_lines_that_need_a_shell_are_never_read(line: str) -> None:
    """Substitutions, redirections, assignments, builtins and trick bytes stay unreadable."""
    assert isinstance(read(line), Unreadable)

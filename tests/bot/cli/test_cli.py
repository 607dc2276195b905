"""Test the command line: exit codes, help with examples, one line for a failure."""

import argparse
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bot import cli
from bot.cli import build_parser, main
from bot.cli.parser import members
from bot.cli.run.exit_status import exit_code
from tests.support.tables import rows

COMMANDS = members(build_parser())


@rows(
    "answer, code",
    [
        ({"status": "finished", "exitCode": 0, "signal": None, "timedOut": False}, 0),
        ({"status": "finished", "exitCode": 7, "signal": None, "timedOut": False}, 7),
        ({"status": "finished", "exitCode": None, "signal": 15, "timedOut": False}, 143),
        ({"status": "finished", "exitCode": None, "signal": 9, "timedOut": True}, 4),
        ({"status": "denied"}, 3),
        ({"status": "pending"}, 4),
        ({"status": "running"}, 4),
        ({"status": "unknown"}, 1),
    ],
)
def test_exit_codes(answer: dict[str, object], code: int) -> None:
    """A run passes its own code through; what did not run has a code of its own."""
    assert code == exit_code(answer)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(command: str) -> None:
    """The help of each command, or of its subcommands, shows how it is called."""
    texts = [parser.format_help() for parser in _parsers(build_parser(command), command)]

    assert any("sayso " + command in text.partition("example")[2] for text in texts), texts


def _parsers(parser: argparse.ArgumentParser, command: str) -> list[argparse.ArgumentParser]:
    (commands,) = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    found = [commands.choices[command]]
    for inner in found[0]._actions:
        if isinstance(inner, argparse._SubParsersAction):
            found += inner.choices.values()
    return found


@pytest.mark.parametrize("command", COMMANDS)
def test_only_the_module_that_offers_a_command_is_loaded(command: str) -> None:
    """It is looked up where it is: whatever is loaded with it comes from the same module.

    A command that fails here starts slowly.
    """
    assert command in members(build_parser(command))
    entries = [f'"{one}": "ITS MODULE"' for one in misplaced(command)]
    assert not entries, (
        f"write {entries} in _BESIDE of bot/cli/__init__.py, or give each a module of its name"
    )


def misplaced(command: str) -> list[str]:
    """Return the commands for which more is loaded than for others of the same module."""
    loaded = members(build_parser(command))
    found = {one: members(build_parser(one)) for one in loaded}
    odd = ((one, theirs) for one, theirs in found.items() if theirs != loaded)
    return sorted({one if len(theirs) > len(loaded) else command for one, theirs in odd})


def test_a_command_that_is_not_where_it_is_looked_for_is_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The control: it still works, and the test above would see what it costs."""
    monkeypatch.setattr(cli, "_BESIDE", {})
    loaded = members(build_parser("show"))

    assert "show" in loaded
    assert members(build_parser("deny")) != loaded > []
    assert misplaced("show") == misplaced("history") == ["show"]


def test_only_the_called_group_is_imported() -> None:
    """`sayso run` imports neither asyncio nor any library that is slow to start."""
    code = (
        "import sys; from bot.cli import build_parser; build_parser('run');"
        "print(sorted({'asyncio','pydantic','sqlalchemy','telegram','dataclasses','socket'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert "[]" == done.stdout.strip()


def test_no_command_is_one_screen(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without arguments: what to do next, on 80x24; the exit code is 0 as with `gh`."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))
    assert main([]) == 0
    screen = capsys.readouterr().out.splitlines()

    assert screen[2].startswith("Next: sayso init")
    assert len(screen) < 24
    assert max(map(len, screen)) <= 80


def test_the_next_step_is_that_of_the_home(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The control: another state, another step; a socket without a listener is not a gateway."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.json5").touch()
    with socket.socket(socket.AF_UNIX) as gateway:
        gateway.bind("gateway.sock")
        steps = []
        acts: tuple[Callable[[], None], ...] = (lambda: None, gateway.listen, gateway.close)
        for act in acts:
            act()
            assert main([]) == 0
            steps.append(capsys.readouterr().out.splitlines()[2].split()[2])
    assert steps == ["serve", "status", "serve"]


def test_the_help_begins_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    """The first screen of the long help has the first commands, not the end of a list."""
    with pytest.raises(SystemExit):
        main(["--help"])
    first = capsys.readouterr().out.splitlines()[:12]

    assert "Start here:" in first
    assert any("sayso init" in line for line in first)


def test_unknown_command_is_a_misuse() -> None:
    """An unknown command exits with 2."""
    with pytest.raises(SystemExit) as ended:
        main(["frobnicate"])

    assert 2 == ended.value.code


def test_failure_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A failure of ours is reported in one line, without a traceback."""
    os.environ["SAYSO_HOME"] = str(tmp_path)
    try:
        code = main(["pending"])
    finally:
        del os.environ["SAYSO_HOME"]

    told = capsys.readouterr().err
    assert 1 == code
    assert 1 == len(told.strip().splitlines())
    assert "sayso serve" in told


def test_run_wants_exactly_one_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither none nor both of a line and a vector."""
    assert 2 == main(["run"])
    assert 2 == main(["run", "-c", "ls", "--", "ls"])
    assert "-c" in capsys.readouterr().err

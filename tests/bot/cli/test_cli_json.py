"""Keep one rule in every --json command: results and failures are JSON, each on its stream."""

import argparse
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli import build_parser, main
from bot.cli.help.man import commands

_ENDLESS = {"sayso serve": "runs until it is stopped", "sayso demo": "runs a gateway of its own"}
"""Commands that must not start here: they get what they refuse."""
_REMARKS = ({"error"}, {"warning"}, {"note"})


@pytest.fixture(autouse=True)
def logging_as_before() -> Iterator[None]:
    """Undo what `lockdown on` and `init` do to the log of a dedicated process."""
    yield
    logging.disable(logging.NOTSET)
    for handler in [one for one in logging.root.handlers if type(one) is logging.NullHandler]:
        logging.root.removeHandler(handler)


def leaves() -> list[argparse.ArgumentParser]:
    """Return the parser of each command without commands of its own."""
    found = list(commands(build_parser()))
    groups = {" ".join(one.prog.split()[:-1]) for one in found}
    return [one for one in found if one.prog not in groups]


def words(parser: argparse.ArgumentParser) -> list[str]:
    """Return a command line with the required arguments of this command."""
    given = [*parser.prog.split()[1:], "--json"]
    for action in parser._actions:
        value = str(next(iter(action.choices))) if action.choices else "ZZZZZZ"
        if action.option_strings and action.required:
            given += [action.option_strings[-1], value]
        elif not action.option_strings and action.nargs not in {"?", "*", "..."}:
            given.append(value)
    for group in parser._mutually_exclusive_groups:
        if group.required:
            given += [group._group_actions[0].option_strings[0], "ZZZZZZ"]
    return given + (["--no-such-option"] if parser.prog in _ENDLESS else [])


def outcome(given: list[str]) -> int:
    """Run a command here; return its exit code."""
    try:
        return main(given)
    except SystemExit as ended:
        return int(str(ended.code))


def is_json(text: str) -> bool:
    """Return whether a text is one JSON document, or one on each line."""
    for parts in ([text], text.splitlines()):
        try:
            for part in parts:
                json.loads(part)
        except ValueError:
            continue
        return True
    return False


def test_the_walk_covers_all() -> None:
    """The control: the walk finds the commands that the help lists, and their members."""
    names = {one.prog for one in leaves()}

    assert {"sayso completion", "sayso config check", "sayso approvals allowlist add"} <= names
    assert "sayso approvals" not in names
    assert len(names) > 50


@pytest.mark.parametrize("parser", leaves(), ids=lambda parser: parser.prog)
@pytest.mark.parametrize("config", [None, '{"tools": {"exec": {"aks": 1}}}'])
def test_each_command_answers_in_json(
    parser: argparse.ArgumentParser,
    config: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A result on standard output, or one failure with the exit code on standard error."""
    home = tmp_path / "home"
    monkeypatch.setenv("SAYSO_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    if config is not None:
        home.mkdir(mode=0o700)
        (home / "config.json5").write_text(config)
        (home / "config.json5").chmod(0o600)
    code = outcome(words(parser))
    out, lines = (found := capsys.readouterr()).out, found.err.splitlines()
    said = [json.loads(line) for line in lines]
    errors = [one["error"] for one in said if "error" in one]

    assert all(set(one) in _REMARKS for one in said), said
    assert bool(out) != bool(errors), (out, errors)
    assert is_json(out) or not out, out
    assert [code] == [one["exitCode"] for one in errors] or out


def test_a_script_of_a_shell_is_a_value(capsys: pytest.CaptureFixture[str]) -> None:
    """`completion` and `help` print texts; with --json a text is the value of a key."""
    for given in (["completion", "bash"], ["help", "run"], ["help", "--man"]):
        main(given)
        text = capsys.readouterr().out
        main([*given, "--json"])
        assert json.loads(capsys.readouterr().out) == {"text": text}


def test_a_group_alone_lists_its_actions_and_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`sayso lockdown && echo locked` must not look as if anything had been locked."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))

    assert main(["lockdown"]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.splitlines()[-1] == (
        "sayso lockdown: no subcommand given; choose from on, off, status"
    )
    assert "deny every request from now on" in found.err
    assert not (tmp_path / "lockdown").exists()

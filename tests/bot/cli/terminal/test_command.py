"""Ask for a terminal with what was given, and nothing else."""

import argparse
import os

import pytest

from bot.cli.terminal.command import _listed, _params

GIVEN = {"agent": None, "session": None, "cwd": "/srv", "shell": None, "timeout": None}


@pytest.mark.parametrize(
    ("given", "term", "sent"),
    [
        ({}, "xterm", {"cwd": "/srv", "term": "xterm"}),
        ({}, "", {"cwd": "/srv", "term": "dumb"}),
        ({"cwd": None}, "xterm", {"cwd": os.path.realpath("/"), "term": "xterm"}),
        ({"cwd": "a/../b"}, "xterm", {"cwd": "/b", "term": "xterm"}),
        (
            {"agent": "a", "session": "s", "shell": "zsh", "timeout": 1.5},
            "xterm",
            {
                "agent": "a",
                "session": "s",
                "cwd": "/srv",
                "shell": "zsh",
                "term": "xterm",
                "timeoutMs": 1500,
            },
        ),
        ({"timeout": 0.0001}, "xterm", {"cwd": "/srv", "term": "xterm", "timeoutMs": 1}),
    ],
)
def test_what_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, object], term: str, sent: dict[str, object]
) -> None:
    """A time is a whole number of milliseconds, and at least one."""
    monkeypatch.chdir("/")
    monkeypatch.setenv("TERM", term)

    assert _params(argparse.Namespace(**{**GIVEN, **given})) == sent


def test_no_terminals_are_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing at all could be a failure; for programs it is an empty list."""
    _listed([], as_json=False)
    _listed([], as_json=True)

    assert capsys.readouterr().out == "No terminals are open.\n[]\n"

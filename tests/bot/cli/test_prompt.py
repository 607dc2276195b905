"""Send a prompt with what was given on the command line, and nothing else."""

import os
from typing import Any

import pytest

from bot.cli import main
from bot.cli.run import command

LEAST = {
    "agent": "coder",
    "prompt": "look",
    "session": "main",
    "cwd": os.getcwd(),  # noqa: PTH109 - as the command has it
    "wait": True,
    "stream": True,
}


@pytest.mark.parametrize(
    ("words", "more", "waits"),
    [
        ([], {}, True),
        (["--no-wait"], {}, False),
        (["--session", "s", "--cwd", "/srv"], {"session": "s", "cwd": "/srv"}, True),
        (["--cwd", "sub"], {"cwd": f"{LEAST['cwd']}/sub"}, True),
        (["--tool", "read", "--tool", "edit"], {"tools": ["read", "edit"]}, True),
        (["--task", "t", "--timeout", "2"], {"task": "t", "timeoutMs": 2000}, True),
    ],
)
def test_what_is_given_is_sent(
    monkeypatch: pytest.MonkeyPatch, words: list[str], more: dict[str, object], *, waits: bool
) -> None:
    """What is not given is left to the gateway's own default; the exit code is the prompt's."""
    sent: list[Any] = []

    def follow(method: str, params: object, _: object, *, as_json: bool, waits: bool) -> int:
        sent.extend((method, params, as_json, waits))
        return 7

    monkeypatch.setattr(command, "follow", follow)

    assert main(["prompt", "send", "coder", "look", *words]) == 7
    assert sent == ["agent.prompt", {**LEAST, **more}, False, waits]

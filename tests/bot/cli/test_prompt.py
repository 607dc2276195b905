"""Send a prompt with what was given on the command line, and nothing else."""

import os
from pathlib import Path
from typing import Any

import pytest

from bot.cli import main
from tests.bot.cli.run.scripted_gateway import FINISHED, Scripted

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
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    words: list[str],
    more: dict[str, object],
    *,
    waits: bool,
) -> None:
    """What is not given is left to the gateway's own default; the exit code is the prompt's."""
    runs: dict[str, Any] = {"method": "exec.state", "params": {"status": "running", "id": "r1"}}
    ends = {"id": "main", "result": {**FINISHED, "exitCode": 7}}
    gateway = Scripted(tmp_path, [runs, ends])
    monkeypatch.setenv("SAYSO_SOCKET", gateway.path)
    code = main(["prompt", "send", "coder", "look", *words])
    gateway.close()
    (asked,) = gateway.asked

    assert (asked["method"], asked["params"]) == ("agent.prompt", {**LEAST, **more})
    assert code == (7 if waits else 4)  # it runs on
    assert not capfd.readouterr().out.startswith("{")  # no JSON

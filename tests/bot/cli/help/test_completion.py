"""Complete what the parsers know, in real bash, zsh and fish."""

import argparse
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bot.cli import build_parser, main
from bot.cli.help.completion import _plain, candidates
from bot.cli.help.man import commands
from bot.cli.parser import members
from tests.support.terminal import terminal
from tests.support.waiting import wait_until

BIN = Path(sys.executable).parent
ENVIRON: Mapping[str, str] = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}", "TERM": "xterm"}


def names(*words: str) -> list[str]:
    """Return the candidates for the last word."""
    return [word for word, _ in candidates([*words])]


def test_every_command_and_option_is_offered() -> None:
    """At each place exactly what the parser accepts there."""
    assert names("") == members(build_parser())
    for parser in commands(build_parser()):
        path = parser.prog.split()[1:]
        options = {name for action in parser._actions for name in action.option_strings[-1:]}
        assert options <= set(names(*path, "-")), parser.prog
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                assert {*action.choices} - {"AGENT"} <= set(names(*path, "")), parser.prog


def test_each_option_is_offered_with_its_help() -> None:
    """As the command's help says it, for the shells that show it next to the name."""
    offered = dict(candidates(["token", "create", "x", "--"]))
    (create,) = (one for one in commands(build_parser()) if one.prog == "sayso token create")
    said = {one.option_strings[-1]: one.help for one in create._actions if one.option_strings}

    assert said.items() <= offered.items()
    assert all(said.values())


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("ap",), ["approve", "approvals"]),
        (("people", "re"), ["revoke", "restore"]),
        (("token", "create", "x", "--scope", "re"), ["request", "read"]),
        (("token", "create", "x", "--scope=re"), ["--scope=request", "--scope=read"]),
        (("token", "create", "x", "--scope", "=", "re"), ["request", "read"]),
        (("token", "create", "x", "--scope", "="), ["request", "approve", "admin", "read"]),
        (("history", "--agent", "x", "--state", "den"), ["denied"]),
        (("audit", "verify", "./a"), [":files"]),
        (("run", "--cwd", "/"), [":folders"]),
        (("run", "--", "git", "st"), [":files"]),
        (("approve", "K3F7QZ", "allow-"), ["allow-once", "allow-always"]),
        (("help", "exit"), ["exit-codes"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("people", "revoke", ""), []),
    ],
)
def test_values_are_completed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    """Choices, files and folders; nothing if only a gateway would know and none runs."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))
    assert names(*words) == expected


def test_a_completion_never_writes_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    """Words that mean nothing complete to nothing."""
    for words in ([], ["nosuch", ""], ["people", "nosuch", ""], ["run", "--nosuch", ""]):
        assert main(["__complete", *words]) == 0
    found = capsys.readouterr()

    assert found.err == ""


def test_bash_completes() -> None:
    """By the function that the script defines, with the words as bash splits them."""
    script = (
        "source <(sayso completion bash); complete -p sayso;"
        "COMP_WORDS=(sayso token create x --scope = re) COMP_CWORD=6; _sayso;"
        'echo "${COMPREPLY[*]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", script], env=ENVIRON, capture_output=True, text=True, check=True
    )

    assert done.stdout == "complete -F _sayso sayso\nrequest read\n"
    assert done.stderr == ""


def test_fish_completes(tmp_path: Path) -> None:
    """By its own `complete -C`, with meanings; a path where one is expected."""
    (tmp_path / "journal.jsonl").touch()
    script = (
        "sayso completion fish | source; complete -C 'sayso people re';"
        f" complete -C 'sayso audit verify {tmp_path}/j'"
    )
    done = subprocess.run(
        ["fish", "--no-config", "-c", script],
        env={**ENVIRON, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )

    first, second, third = done.stdout.splitlines()
    assert first == "restore\trestore a revoked right to approve"
    assert second.startswith("revoke\t")
    assert third == f"{tmp_path}/journal.jsonl"


@pytest.mark.parametrize(
    ("typed", "shown"),
    [("sayso peop\t", b"sayso people"), ("sayso people re\t\t", b"restore a revoked right")],
)
def test_zsh_completes(tmp_path: Path, typed: str, shown: bytes) -> None:
    """In an interactive shell, as the tab key does."""
    start = (
        "autoload -U compinit; compinit -D; source <(sayso completion zsh); PS1=; echo rea''dy\n"
    )
    with terminal("zsh", "-f", "-i", environ={**ENVIRON, "HOME": str(tmp_path)}) as (_, fd):
        written = bytearray()

        def has(words: bytes) -> bool:
            written.extend(os.read(fd, 65_536))
            return words in written

        os.write(fd, start.encode())
        wait_until("zsh", lambda: has(b"\nready") or has(b"ready\r"), seconds=20)
        written.clear()
        os.write(fd, typed.encode())
        wait_until(typed, lambda: has(shown), seconds=20)


def test_names_that_agents_choose_are_plain_words_or_left_out() -> None:
    """Bash inserts a candidate as it is; a session named `x;rm` must never reach it."""
    hostile = ["x;touch y;", "$(id)", "`id`", ":files", ":;touch y", "a b", "-x", "~", "a\nb", ""]
    fine = ["main", "agent:coder:1", "telegram:-100", "a/b", "x@y", "1=2"]
    assert _plain((name, "") for name in [*hostile, *fine]) == [(name, "") for name in fine]

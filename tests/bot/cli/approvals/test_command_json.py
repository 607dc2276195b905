"""Say to a script, as JSON, what a change did to the approvals file."""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bot.cli.approvals import command
from core.approvals.file.file import ApprovalsFile

WIDE = {"askFallback": "full", "allowlist": [{"pattern": "/bin/z"}]}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a home in which no gateway runs, with one entry for the agent a."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path))
    tmp_path.chmod(0o700)
    file = tmp_path / "exec-approvals.json"
    entry = {"id": "e1", "pattern": "/bin/x"}
    file.write_text(json.dumps({"version": 1, "agents": {"a": {"allowlist": [entry]}}}))
    file.chmod(0o600)
    return tmp_path


def change(by: Callable[[argparse.Namespace], int], **words: object) -> argparse.Namespace:
    """Make a change of agent a's entries for a script."""
    unset = {"argv": None, "dry_run": False, "node": None, "stdin": False}
    args = argparse.Namespace(agent="a", json=True, **{**unset, **words})
    assert by(args) == 0
    return args


def entries(home: Path) -> list[tuple[str, str, list[str] | None]]:
    """Return what the file has now for agent a."""
    shown: Any = ApprovalsFile(home / "exec-approvals.json").shown()
    found = shown["agents"]["a"]["allowlist"]
    return [(one.get("id", ""), one["pattern"], one.get("argv")) for one in found]


def test_a_text_that_is_put_in_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script learns what a person should look at."""
    text = home / "new.json"
    text.write_text(json.dumps({"version": 1, "agents": {"a": WIDE}}))
    change(command.put, file=text)
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]

    assert [one[1] for one in entries(home)] == ["/bin/z"]
    assert "askFallback is full" in warning


@pytest.mark.parametrize("argv", [None, ["y"]])
def test_an_entry_that_is_added(
    home: Path, capsys: pytest.CaptureFixture[str], argv: list[str] | None
) -> None:
    """By its id a script can remove it again."""
    change(command.add, pattern="/bin/y", argv=argv)
    said = json.loads(capsys.readouterr().out)
    (_, added) = entries(home)

    assert said == {
        "agent": "a",
        "id": added[0],
        "pattern": "/bin/y",
        **({} if argv is None else {"argv": argv}),
    }
    assert added[2] == argv


def test_an_entry_that_is_removed(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script reads nothing else from it."""
    change(command.remove, pattern="e1")

    assert json.loads(capsys.readouterr().out) == {"removed": True}
    assert entries(home) == []

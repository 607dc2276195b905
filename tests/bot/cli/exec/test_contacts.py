"""List contacts, also where there is none."""

import json
from pathlib import Path

import pytest

from bot.cli import main


def test_no_contacts_are_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing at all could be a failure; for programs it is an empty list."""
    monkeypatch.setenv("SAYSO_HOME", str(tmp_path / "home"))

    assert main(["exec", "contacts", "list"]) == 0
    words = capsys.readouterr().out
    assert main(["exec", "contacts", "list", "--json"]) == 0

    assert words == "No contacts yet. Add one with `sayso exec contacts add NAME …`.\n"
    assert json.loads(capsys.readouterr().out) == {"contacts": []}

"""Report what `sayso doctor` says about the reading of approved scripts."""

from pathlib import Path

import pytest

from bot.doctor.installation import examine
from bot.health.check import Finding, Verdict
from core.runner.supervisor.pinned_files import open_notifier


def scripts(home: Path) -> Finding:
    """Return the findings about scripts."""
    (found,) = [one for one in examine({"SAYSO_HOME": str(home)}) if one.subject == "scripts"]
    return found


def test_scripts_are_read_as_approved(tmp_path: Path) -> None:
    """On this machine."""
    assert scripts(tmp_path).verdict is Verdict.OK


def test_a_kernel_that_cannot_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The remaining race, and why."""
    monkeypatch.setattr(open_notifier, "fault", lambda: "the kernel is older than 5.14")
    found = scripts(tmp_path)

    assert found.verdict is Verdict.WARN
    assert "can be replaced by a rename" in found.detail
    assert "older than 5.14" in found.detail

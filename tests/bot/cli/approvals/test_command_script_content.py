"""Describe entries that are held to a script's content (decision 21)."""

import hashlib
import sys
from pathlib import Path

from bot.policy_tools.suggestible import suggestible
from core.approvals.file.file import ApprovalsFile
from core.model.decision import Promise
from tests.support.product_process import run

ALLOWLIST = {"SAYSO_TOOLS__EXEC__HOST": "gateway", "SAYSO_TOOLS__EXEC__SECURITY": "allowlist"}


def sayso(home: Path, *words: str) -> str:
    """Run a command in a home of its own and return what it printed."""
    done = run(
        [sys.executable, "-m", "bot", *words],
        capture_output=True,
        timeout=50,
        check=False,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "SAYSO_HOME": str(home), **ALLOWLIST},
    )
    assert not done.stderr
    return bytes(done.stdout).decode()


def test_the_list_and_explain_name_the_script(tmp_path: Path) -> None:
    """The list names the file; explain says what changed, and both ways out."""
    tmp_path.chmod(0o700)
    script = tmp_path / "x.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    stored = ApprovalsFile(tmp_path / "exec-approvals.json")
    stored.add("main", str(script), None, ((str(script), digest),))

    listed = sayso(tmp_path, "approvals", "allowlist", "list")
    same = sayso(tmp_path, "policy", "explain", "--", str(script))
    script.write_text("#!/bin/sh\nid\n")
    changed = sayso(tmp_path, "policy", "explain", "--", str(script))

    assert f"{script}, while it stays as it is\n" == listed
    assert same.startswith("ALLOW")
    assert changed.startswith("ASK")
    assert f"ask (not_listed): {script} changed since it was allowed always" in changed
    assert (
        f"allow-always in its prompt: {script} with any arguments, while it stays as it is\n"
        in changed
    )
    by_hand = f"sayso approvals allowlist add --agent main '{script}'\n"
    assert f"or, regardless of later changes to these files: {by_hand}" in changed


def test_a_script_is_never_suggested() -> None:
    """What was allowed for one content cannot be proposed for any."""
    assert suggestible(Promise("/work/x.sh"))
    assert not suggestible(Promise("/work/x.sh", None, (("/work/x.sh", "a" * 64),)))

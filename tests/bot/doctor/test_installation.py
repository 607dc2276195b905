"""Only look with `sayso doctor`: it leaves a home as it was, and creates none."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.audit.journal import AuditJournal
from core.gate.guards.lockdown import NAME, Lockdown
from tests.support.first_schema import make_baseline
from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.product_process import run


def tree(home: Path) -> dict[str, tuple[int, int]]:
    """Return every path below a folder with its mode and time of change."""
    found = sorted(home.rglob("*")) if home.exists() else []
    found = [one for one in found if not one.name.endswith("-shm")]  # SQLite's locks of readers
    return {str(one): (one.lstat().st_mode, one.lstat().st_mtime_ns) for one in found}


def doctor(home: Path) -> str:
    """Run every check; return what it says."""
    done = run(
        [sys.executable, "-m", "bot", "doctor"],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "sandbox: " in done.stdout, done.stderr
    return str(done.stdout)


def test_an_empty_home_stays_empty(tmp_path: Path) -> None:
    """Nothing is created: no folder of the sandbox, no key, not the home itself."""
    doctor(tmp_path / "none")
    assert not (tmp_path / "none").exists()
    (tmp_path / "home").mkdir(mode=0o700)
    doctor(tmp_path / "home")
    assert tree(tmp_path / "home") == {}


def test_the_home_of_a_stopped_gateway_stays_as_it_is(tmp_path: Path) -> None:
    """The control: a gateway writes there, and what it left is not touched."""
    home = tmp_path / "home"
    write_config(home, None)
    gateway = GatewayProcess(home)
    gateway.start()
    gateway.stop()
    before = tree(home)
    doctor(home)
    assert len(before) > 3
    assert tree(home) == before


def test_limits_of_the_approvals_file_that_do_nothing_are_named(tmp_path: Path) -> None:
    """A wider setting than the configuration's has no effect, and is named; a stricter one not."""
    home = tmp_path / "home"
    write_config(home, None)
    agents = {"a": {"security": "full", "ask": "always"}, "b": {"security": "deny"}}
    path = home / "exec-approvals.json"
    path.write_text(json.dumps({"version": 1, "agents": agents}))
    path.chmod(0o600)
    said = " ".join(doctor(home).split())

    assert "agents.a: security full has no effect: tools.exec gives allowlist" in said
    assert said.count("has no effect") == 1


def test_a_journal_that_is_not_whole_is_named(tmp_path: Path) -> None:
    """Cut off, or missing while its head file exists; the control: as the gateway left it."""
    home = tmp_path / "home"
    write_config(home, None)
    with AuditJournal(home / "audit.jsonl") as journal:
        for number in range(3):
            asyncio.run(journal.append("k", {"number": number}))
    assert "ok    journal: is whole: 3 records" in doctor(home)
    whole = (home / "audit.jsonl").read_bytes()
    (home / "audit.jsonl").write_bytes(whole[: whole.index(b"\n") + 1])
    assert "3 lines were acknowledged, 1 are left" in " ".join(doctor(home).split())
    (home / "audit.jsonl").unlink()
    assert "3 lines were acknowledged, 0 are left" in " ".join(doctor(home).split())


def test_a_lockdown_is_found_where_no_gateway_reports_it(tmp_path: Path) -> None:
    """Who and why is in its file; without one nothing is said about it."""
    home = tmp_path / "home"
    write_config(home, None)
    assert "lockdown: " not in doctor(home)
    Lockdown(home / NAME).engage("a key was lost", by="ana")

    said = " ".join(doctor(home).split())
    assert "fail lockdown: Sayso has been locked down since" in said
    assert ": a key was lost. Nothing runs." in said


def test_a_home_that_no_gateway_would_start_with_is_a_failure(tmp_path: Path) -> None:
    """Others may list it; `sayso serve` says the same, and writes nothing there first."""
    home = tmp_path / "home"
    home.mkdir()
    home.chmod(0o755)
    serve = run(
        [sys.executable, "-m", "bot", "serve"],
        cwd=ROOT,
        env={**os.environ, "SAYSO_HOME": str(home)},
        capture_output=True,
        text=True,
        check=False,
    )
    why = f"{home} must belong to uid {os.getuid()} with mode 0700"

    assert f"fail  home: {why}" in doctor(home)
    assert why in serve.stderr
    assert tree(home) == {}


def _junk(database: Path) -> None:
    database.write_bytes(b"junk" * 3000)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_junk, "fail  store: The store {} cannot be read: file is not a database."),
        (make_baseline, "warn  store: The store has schema 0009, this command knows "),
        (
            Path.touch,
            "",
        ),  # a gateway that could not fill the disk further left it; the next one will
    ],
)
def test_a_database_that_cannot_be_read_is_named(
    tmp_path: Path, make: Callable[[Path], None], words: str
) -> None:
    """No gateway runs that could report it."""
    home = tmp_path / "home"
    home.mkdir(0o700)
    database = home / "state.db"
    make(database)
    before = tree(home)
    found = doctor(home)

    assert words.format(database) in found
    assert words or "store: " not in found
    assert tree(home) == before

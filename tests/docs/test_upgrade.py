"""Follow the page about upgrades: a store of the first schema is upgraded, refused, restored."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from core.store.schema.tables import SCHEMA_VERSION
from tests.docs.blocks import ROOT, blocks
from tests.support.first_schema import make_baseline
from tests.support.gateway_process import GatewayProcess, write_config

PAGE = ROOT / "docs/how-to/upgrade.md"
BACKUP = ROOT / "docs/how-to/back-up.md"
pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def gateway(tmp_path: Path) -> GatewayProcess:
    """Return a gateway whose store is of the first schema; it is not running yet."""
    home = tmp_path / ".sayso"
    write_config(home, None)
    make_baseline(home / "state.db")
    (home / "state.db").chmod(0o600)
    return GatewayProcess(home)


def run(text: str, gateway: GatewayProcess) -> None:
    """Run a block of the page as a user would, in its own shell."""
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**gateway.environ(), "HOME": str(gateway.home.parent), "PATH": tools}
    done = subprocess.run(
        ["sh", "-eu", "-c", text], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def schema(home: Path) -> str:
    """Return the schema's number, as the page says where it is."""
    with closing(sqlite3.connect(home / "state.db")) as db:
        return str(db.execute("SELECT version_num FROM schema_version").fetchone()[0])


def test_upgrade_and_back(gateway: GatewayProcess) -> None:
    """The other page's copy, upgrade by a start, and the database restored, byte for byte."""
    assert "back-up.md#back-up" in PAGE.read_text()
    (restore,) = (block.text for block in blocks(PAGE) if not block.reason)
    save = blocks(BACKUP)[0].text
    before = (gateway.home / "state.db").read_bytes()
    old = schema(gateway.home)
    run(save, gateway)
    with pytest.raises(AssertionError, match="exists"):
        run(save, gateway)
    gateway.start()
    gateway.stop()
    assert old != schema(gateway.home) == SCHEMA_VERSION
    with closing(sqlite3.connect(gateway.home / "state.db")) as db:
        assert db.execute("SELECT run_id FROM requests").fetchall() == [("one",)]
    run(restore, gateway)
    assert (gateway.home / "state.db").read_bytes() == before
    assert (gateway.home / "state.db").stat().st_mode & 0o777 == 0o600
    gateway.start()
    assert gateway.stop() == 0
    assert schema(gateway.home) == SCHEMA_VERSION
    assert gateway.cli("audit", "verify").returncode == 0


def test_an_older_version_refuses_what_a_newer_one_made(gateway: GatewayProcess) -> None:
    """As the page shows it; nothing is changed."""
    with closing(sqlite3.connect(gateway.home / "state.db")) as db, db:
        db.execute("UPDATE schema_version SET version_num = '9999'")
    refused = gateway.cli("serve")
    assert refused.returncode == 1
    shown = PAGE.read_text().partition("```text\n")[2].partition("\n```")[0]
    words = shown.replace("0010", "9999").replace("0009", SCHEMA_VERSION)
    assert words in refused.stderr
    assert schema(gateway.home) == "9999"

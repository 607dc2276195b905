"""Check that the page about uninstalling names every file that Sayso may have written."""

import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from bot.cli.help.topics import FILES
from bot.cli.paths import SHARED_SOCKET
from bot.executor_setup import sudoers
from bot.factories.remote_exec import LOG_NAME
from bot.jobs import weekly_report
from bot.service.install import unit_path
from bot.service.unit import Scope
from bot.setup.choices import SECRETS
from bot.wiring.storage import RESULTS
from core.gate.guards import lockdown, marks
from core.isolation import process
from core.isolation.terminal import recording
from core.nodes import ledger, node_file, prepared
from core.remote.trust import contacts
from core.trust import certificate, identity, sealing
from tests.docs.blocks import ROOT, blocks
from tests.support.gateway_process import GatewayProcess, write_config

PAGE = ROOT / "docs/how-to/uninstall.md"
pytestmark = pytest.mark.timeout(180)


def named() -> set[str]:
    """Return the names in the table of files in the home."""
    table = PAGE.read_text().partition("In `$SAYSO_HOME`")[2].partition("Elsewhere:")[0]
    cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_name_that_the_code_has_is_on_the_page() -> None:
    """Files and folders of the home; the socket and the units elsewhere."""
    secrets = {one.file for each in SECRETS.values() for one in each}
    own = {RESULTS, LOG_NAME, weekly_report.NAME, lockdown.NAME, marks.FOLDER, contacts.FILE}
    own |= {node_file.NODE_FILE, ledger.FOLDER, prepared.FOLDER}
    own |= {recording.FOLDER, certificate.TLS_FILE}
    keys = {identity.AGENT_KEY, identity.MACHINE_KEY, node_file.NODE_KEY, sealing.SEALING_KEY}
    assert {*FILES, *secrets, *own, *keys} - named() == set()
    text = PAGE.read_text()
    elsewhere = (SHARED_SOCKET, sudoers.PATH, process.EXECUTOR, Path(process.INTERPRETER).parent)
    for place in elsewhere:
        assert f"`{place}`" in text
    for scope in Scope:
        assert str(unit_path(scope, {"HOME": "~"})) in text


def test_what_a_gateway_leaves_is_on_the_page(tmp_path: Path) -> None:
    """Start, run, rotate, lock, stop: nothing is in the home that the page does not name."""
    gateway = GatewayProcess(tmp_path / "state")
    write_config(gateway.home, None)
    gateway.start()
    gateway.cli("run", "--", "echo", "x")
    gateway.cli("run", "--host", "sandbox", "--", "echo", "x")
    assert gateway.cli("audit", "rotate").returncode == 0
    gateway.cli("lockdown", "on")
    while_running = set(os.listdir(gateway.home))  # noqa: PTH208 - names are meant
    gateway.stop()
    left = {*while_running, *os.listdir(gateway.home)} - {"gateway.log"}  # noqa: PTH208 - as above
    names = {name.replace("000001", "[0-9]*") for name in named()}
    assert {one for one in left if not any(fnmatch(one, name) for name in names)} == set()
    assert "audit.jsonl.000001" in left, "the look sees what is there"
    _keep_the_journal(gateway)


def _keep_the_journal(gateway: GatewayProcess) -> None:
    """Run the page's commands that keep the journal."""
    tools = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environ = {**gateway.environ(), "HOME": str(gateway.home.parent), "PATH": tools}
    (block,) = (one.text for one in blocks(PAGE) if one.test.endswith(Path(__file__).name))
    done = subprocess.run(
        ["sh", "-eu", "-c", block], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "in 2 segments, the chain is intact" in done.stdout

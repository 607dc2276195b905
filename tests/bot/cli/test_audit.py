"""Run `sayso audit` over segments: with a running gateway, without one, and on a named file."""

import asyncio
import json
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.cli.audit import tail
from core.audit.journal import AuditJournal
from tests.support.gateway_process import GatewayProcess, write_config

pytestmark = pytest.mark.timeout(180)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway."""
    made = GatewayProcess(tmp_path / "home")
    write_config(made.home, None)
    made.start()
    yield made
    made.stop()


def test_a_running_gateway_rotates_and_goes_on(gateway: GatewayProcess) -> None:
    """It is asked, since it holds the journal; runs before and after are in one chain."""
    assert gateway.cli("run", "--host", "gateway", "--", "echo", "one").stdout == "one\n"
    ended = gateway.json("audit", "rotate")
    assert ended["file"] == str(gateway.home / "audit.jsonl.000001")
    assert gateway.cli("run", "--host", "gateway", "--", "echo", "two").stdout == "two\n"
    verdict = gateway.json("audit", "verify")
    assert (verdict["ok"], verdict["segments"]) == (True, 2)
    lines = gateway.cli("audit", "tail", "--limit", "1000", "--json").stdout.splitlines()
    records = [json.loads(line) for line in lines]
    assert [record["seq"] for record in records] == list(range(1, verdict["records"] + 1))
    (segment,) = [record for record in records if record["kind"] == "segment"]
    assert segment["prev"] == segment["previous_hash"] == ended["hash"]
    assert segment["by"].startswith("uid:")
    assert len(gateway.json("history")) == 2
    _without_a_gateway(gateway, verdict["records"])


def _without_a_gateway(gateway: GatewayProcess, records: int) -> None:
    """The command rotates on its own, under the same lock, and a gateway starts on that."""
    refused = gateway.cli("audit", "rotate", "--file", str(gateway.home / "audit.jsonl"))
    assert refused.returncode == 1
    assert "being written by another process" in refused.stderr
    gateway.stop()
    assert gateway.json("audit", "rotate")["segment"] == 2
    empty = gateway.cli("audit", "rotate")
    assert (empty.returncode, empty.stdout) == (1, "")
    assert "no records since the last rotation" in empty.stderr
    gateway.start()
    assert gateway.json("audit", "verify")["records"] > records
    _moved_away(gateway)


def _moved_away(gateway: GatewayProcess) -> None:
    """A missing segment is found, and the rest is checked from the next one on."""
    archive = gateway.home.parent / "audit.jsonl.000001"
    (gateway.home / archive.name).rename(archive)
    missing = gateway.cli("audit", "verify")
    assert missing.returncode == 3
    assert missing.stdout.endswith("audit.jsonl.000001:1: segment 1 is missing\n")
    assert gateway.cli("audit", "verify", "--from", "2").returncode == 0
    assert gateway.json("audit", "verify", "--from", "2")["endChecked"]
    alone = gateway.cli("audit", "verify", str(archive))
    assert (alone.returncode, "at its end was not checked" in alone.stderr) == (0, True)
    assert not json.loads(gateway.cli("audit", "verify", str(archive), "--json").stdout)[
        "endChecked"
    ]
    nowhere = gateway.cli("audit", "rotate", "--file", str(archive.parent / "none.jsonl"))
    assert nowhere.returncode == 2


def test_an_export_is_made_beside_a_gateway_and_checked_anywhere(gateway: GatewayProcess) -> None:
    """Over segments, of a period or of all; the verifier next to it says whether it is intact."""
    assert gateway.cli("run", "--host", "gateway", "--", "echo", "one").stdout == "one\n"
    gateway.json("audit", "rotate")
    assert gateway.cli("run", "--host", "gateway", "--", "echo", "two").stdout == "two\n"
    to = gateway.home.parent / "evidence.jsonl"
    made = gateway.json("audit", "export", "--since", "1d", str(to))
    check = [sys.executable, "-I", made["verifier"], str(to)]
    noted = ["--sha256", made["sha256"], "--head", made["head"]]
    done = subprocess.run([*check, *noted], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert f"ok: {made['records']} journal records" in done.stdout
    to.write_text(to.read_text().replace("echo", "true"))
    assert subprocess.run(check, capture_output=True, check=False).returncode == 1
    again = gateway.cli("audit", "export", str(to))
    assert again.returncode != 0
    assert "is there already" in again.stderr
    past = gateway.cli("audit", "export", "--until", "2001-01-01", str(to.with_name("x.jsonl")))
    assert "no record of this" in past.stderr


@pytest.mark.parametrize("as_json", [False, True])
def test_no_record_moves_the_cursor(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, as_json: bool
) -> None:
    """Nor hides, or turns around, what is next to it; the JSON says the same."""
    hostile = "/tmp/\x1b[2J\x9b31m\u202e\u200b\x7f"
    path = tmp_path / "audit.jsonl"
    with AuditJournal(path) as journal:
        asyncio.run(journal.append("decision", {"cwd": hostile, "argv": [hostile]}))
    assert tail(Namespace(file=path, limit=10, json=as_json)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(line.isprintable() for line in lines), lines
    assert not as_json or json.loads(lines[-1])["cwd"] == hostile

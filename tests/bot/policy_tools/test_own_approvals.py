"""Changes of exec-approvals.json by command: each is in the journal, gateway or not."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from core.audit.journal import AuditJournal
from core.audit.verify import verify
from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.product_process import start
from tests.support.terminal import in_terminal

SAYSO = (sys.executable, "-m", "bot")
ADD = ("approvals", "allowlist", "add")


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Yield a gateway that is not started yet."""
    home = tmp_path / "home"
    write_config(home, None)
    found = GatewayProcess(home)
    yield found
    if found.process is not None:
        found.stop()


def records(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return the journal's records about the file."""
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one["kind"] == "approvals file"]


def patterns(gateway: GatewayProcess) -> list[str]:
    """Return what is listed for the agent main."""
    file = json.loads((gateway.home / "exec-approvals.json").read_text())
    return [entry["pattern"] for entry in file["agents"]["main"]["allowlist"]]


def test_a_running_gateway_makes_the_change_and_the_record(gateway: GatewayProcess) -> None:
    """A person at a terminal adds, removes and replaces: one record each, a chain of hashes."""
    gateway.start()
    typed = [
        in_terminal(*SAYSO, *words, environ=gateway.environ())
        for words in (
            (*ADD, "/opt/own-tool"),
            (*ADD, "/opt/own-tool"),
            ("approvals", "allowlist", "remove", "/usr/bin/true"),
        )
    ]

    assert [0, 0, 0] == [code for code, _ in typed]
    assert ["/usr/bin/echo", "/opt/own-tool"] == patterns(gateway)
    added, removed = records(gateway)
    assert {f"uid:{os.getuid()}"} == {added["by"], removed["by"]}
    assert added["after"] == removed["before"] != removed["after"]
    assert "/opt/own-tool" in added["text"]
    assert "/usr/bin/true" not in removed["text"]


def test_an_agents_process_adds_nothing_while_a_gateway_runs(gateway: GatewayProcess) -> None:
    """Without a terminal it is refused and changes nothing; the control is typed."""
    gateway.start()
    refused = gateway.cli(*ADD, "/opt/own-tool", own_session=True)
    before = patterns(gateway), records(gateway)
    typed = in_terminal(*SAYSO, *ADD, "/opt/own-tool", environ=gateway.environ())

    assert 3 == refused.returncode
    assert "Only a person at a terminal" in refused.stderr
    assert (["/usr/bin/echo", "/usr/bin/true"], []) == before
    assert 0 == typed[0]
    assert ["/opt/own-tool"] == patterns(gateway)[2:]


def test_a_file_that_no_request_can_carry_is_named(gateway: GatewayProcess) -> None:
    """The way out is said; without the gateway, the control, the same command changes it."""
    names = [{"pattern": f"/opt/{number:06d}{'x' * 120}"} for number in range(60_000)]
    file = gateway.home / "exec-approvals.json"
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": names}}}))
    gateway.start()
    code, said = in_terminal(*SAYSO, *ADD, "/opt/a", environ=gateway.environ())
    gateway.stop()
    alone = gateway.cli(*ADD, "/opt/a")

    assert (2, True) == (code, "too large (9 MB) to be changed through" in said), said
    assert 0 == alone.returncode, alone.stderr
    assert ["/opt/a"] == patterns(gateway)[60_000:]


def test_without_a_gateway_the_command_records_its_change(gateway: GatewayProcess) -> None:
    """The same record, tied into the chain; what changes nothing leaves none."""
    gateway.start()
    gateway.stop()
    done = [gateway.cli(*ADD, one) for one in ("/opt/a", "/opt/a", "/opt/b")]
    text = {"version": 1, "socket": {"token": "hush-hush-token"}, "agents": {"main": {}}}
    source = gateway.home / "new.json"
    source.write_text(json.dumps(text))
    replaced = gateway.cli("approvals", "set", "--file", str(source))

    assert [0, 0, 0, 0] == [one.returncode for one in (*done, replaced)]
    first, second, third = records(gateway)
    assert (f"uid:{os.getuid()}", first["after"]) == (second["by"], second["before"])
    assert second["after"] == third["before"]
    assert "hush-hush-token" not in (gateway.home / "audit.jsonl").read_text()
    assert verify(gateway.home / "audit.jsonl").ok


def test_a_home_without_a_journal_is_told_so(gateway: GatewayProcess) -> None:
    """The change counts, no journal is made, and a note says that none has it."""
    done = gateway.cli(*ADD, "/opt/a")
    as_json = gateway.cli(*ADD, "/opt/b", "--json")

    assert 0 == done.returncode
    assert f"no journal has this change: {gateway.home}/audit.jsonl is not there" in done.stderr
    assert "no journal has this change" in json.loads(as_json.stderr)["note"]
    assert not (gateway.home / "audit.jsonl").exists()
    assert ["/opt/a", "/opt/b"] == patterns(gateway)[2:]


def test_it_waits_for_whoever_writes_the_journal(gateway: GatewayProcess) -> None:
    """Two commands at once, or a gateway that is about to listen, do not make one fail."""
    gateway.start()
    gateway.stop()
    with AuditJournal(gateway.home / "audit.jsonl"):
        command = start(
            [*SAYSO, *ADD, "/opt/a"], cwd=ROOT, env=gateway.environ(), stderr=subprocess.PIPE
        )
        time.sleep(4)
        waiting = command.poll(), patterns(gateway)[2:]
    command.communicate(timeout=30)

    assert (None, []) == waiting
    assert (0, ["/opt/a"], 1) == (command.returncode, patterns(gateway)[2:], len(records(gateway)))


def test_a_corrupt_file_is_replaced_by_a_running_gateway_too(gateway: GatewayProcess) -> None:
    """`set` is the way out of a file that cannot be read, with its record."""
    gateway.start()
    (gateway.home / "exec-approvals.json").write_text("{ broken")
    source = gateway.home / "new.json"
    source.write_text('{"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/opt/a"}]}}}')
    words = ("approvals", "set", "--file", str(source))
    code, told = in_terminal(*SAYSO, *words, environ=gateway.environ())

    assert 0 == code, told
    assert (["/opt/a"], 1) == (patterns(gateway), len(records(gateway)))

"""Change exec-approvals.json by command: each change is in the journal, gateway or not."""

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
    """Yield a gateway that has not been started."""
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


def added(
    gateway: GatewayProcess, pattern: str, environ: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    """Add a pattern without a terminal, under more variables."""
    return subprocess.run(
        [*SAYSO, *ADD, pattern],
        cwd=ROOT,
        env=gateway.environ() | environ,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        start_new_session=True,
    )


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


@pytest.mark.deep
@pytest.mark.slow
def test_a_file_that_no_request_can_carry_is_named(gateway: GatewayProcess) -> None:
    """It says the solution; without the gateway, the control, the same command changes it."""
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
    """The same record, linked into the chain; what changes nothing leaves none."""
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


def test_a_home_without_a_journal_gets_one(gateway: GatewayProcess) -> None:
    """Before its first gateway, too, each change has its record, which a gateway continues."""
    done = gateway.cli(*ADD, "/opt/a"), gateway.cli(*ADD, "/opt/b", "--json")
    gateway.start()
    gateway.stop()

    assert [(0, ""), (0, "")] == [(one.returncode, one.stderr) for one in done]
    assert ["/opt/a", "/opt/b"] == patterns(gateway)[2:]
    assert 2 == len(records(gateway))
    assert verify(gateway.home / "audit.jsonl").ok


def test_whoever_calls_does_not_choose_the_journal(gateway: GatewayProcess) -> None:
    """The configuration file names it, even if unusable; the variable does not count."""
    elsewhere = {"SAYSO_AUDIT__PATH": str(gateway.home.parent / "none.jsonl")}
    done = [added(gateway, "/opt/a", elsewhere)]
    config = gateway.home / "config.json5"
    text = json.loads(config.read_text()) | {"audit": {"path": "own.jsonl"}}
    for number, more in enumerate(({}, {"unheardOf": 1})):
        config.write_text(json.dumps(text | more))
        done.append(added(gateway, f"/opt/b{number}", elsewhere))

    assert [0, 0, 0] == [one.returncode for one in done], [one.stderr for one in done]
    assert not (gateway.home.parent / "none.jsonl").exists()
    assert 1 == len(records(gateway))
    assert 2 == (gateway.home / "own.jsonl").read_text().count('"approvals file"')


def longer(home: Path) -> str:
    """Return the same home, spelled so that a socket's path in it is too long."""
    return f"{home}{f'/../{home.name}' * 30}"


def test_a_home_spelled_too_long_for_a_socket_is_the_same(gateway: GatewayProcess) -> None:
    """A running gateway is still asked; without one, the control, it is changed here."""
    gateway.start()
    attack = {
        "SAYSO_HOME": longer(gateway.home),
        "SAYSO_AUDIT__PATH": str(gateway.home.parent / "none.jsonl"),
    }
    refused = added(gateway, "/opt/a", attack)
    before = patterns(gateway)[2:], records(gateway)
    gateway.stop()
    done = added(gateway, "/opt/a", attack)

    assert 3 == refused.returncode, refused.stderr
    assert "Only a person at a terminal" in refused.stderr
    assert ([], []) == before
    assert (0, ["/opt/a"]) == (done.returncode, patterns(gateway)[2:])
    assert 1 == len(records(gateway))


def test_a_gateway_that_cannot_be_reached_holds_its_home(gateway: GatewayProcess) -> None:
    """Its lock counts, whatever happened to socket and journal; once it ended, it is changed."""
    gateway.start()
    (gateway.home / "gateway.sock").rename(gateway.home / "away.sock")
    config = gateway.home / "config.json5"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"audit": {"path": "o.jsonl"}}))
    refused = gateway.cli(*ADD, "/opt/a", own_session=True)
    before = patterns(gateway)[2:], (gateway.home / "o.jsonl").read_text()
    gateway.stop()
    done = gateway.cli(*ADD, "/opt/a", own_session=True)

    assert 1 == refused.returncode, refused.stderr
    assert f"A gateway runs on {gateway.home}" in refused.stderr
    assert "Nothing was changed" in refused.stderr
    assert ([], "") == before
    assert (0, ["/opt/a"]) == (done.returncode, patterns(gateway)[2:])


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
    """`set` is the solution for a file that cannot be read, with its record."""
    gateway.start()
    (gateway.home / "exec-approvals.json").write_text("{ broken")
    source = gateway.home / "new.json"
    source.write_text('{"version": 1, "agents": {"main": {"allowlist": [{"pattern": "/opt/a"}]}}}')
    words = ("approvals", "set", "--file", str(source))
    code, told = in_terminal(*SAYSO, *words, environ=gateway.environ())

    assert 0 == code, told
    assert (["/opt/a"], 1) == (patterns(gateway), len(records(gateway)))

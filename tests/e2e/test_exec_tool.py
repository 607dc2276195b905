"""Call the tool Exec from outside: a real gateway, its socket, its journal."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.support.gateway_process import GatewayProcess, write_config


@pytest.fixture
def gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GatewayProcess]:
    """Run a gateway with a secret in its environment; the agent coder has Exec, main has not."""
    home, work = tmp_path / "home", tmp_path / "work"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    files = {"read": ["/usr/bin"], "write": [str(work)]}
    config["agents"] = {
        "list": [{"id": "coder", "capabilities": {"tools": ["Exec"], "files": files}}]
    }
    (home / "config.json5").write_text(json.dumps(config))
    entries = [{"pattern": f"/usr/bin/{name}"} for name in ("echo", "printenv", "ls")]
    allowed = {"version": 1, "agents": {"coder": {"allowlist": entries}}}
    (home / "exec-approvals.json").write_text(json.dumps(allowed))
    work.mkdir()
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-for-children")
    running = GatewayProcess(home)
    running.start()
    try:
        yield running
    finally:
        running.stop()


def call(gateway: GatewayProcess, agent: str = "coder", **args: Any) -> dict[str, Any]:
    """Call Exec over gateway.sock."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        params = {"tool": "Exec", "agent": agent, "args": args}
        return client.call("tool.call", params, timeout=30)


def records(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return the journal's records of tools, without those of the gateway's own proof."""
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    calls = (one for one in map(json.loads, lines) if one["kind"].startswith("tool.call."))
    return [one for one in calls if one["session"] != "gate-proof"]


def test_a_call_goes_all_the_way_and_is_written_down(gateway: GatewayProcess) -> None:
    """Criterion 9 from outside: socket, policy, process, result, `tool.call.dispatched`."""
    work = gateway.home.parent / "work"
    done = call(gateway, argv=["/bin/ls", "-d", ".", "absent"], cwd=str(work))
    seen = call(gateway, argv=["/usr/bin/printenv"])
    (first, _) = records(gateway)

    assert done["ok"]
    assert (2, ".\n") == (done["result"]["exit_code"], done["result"]["stdout"])
    assert "absent" in done["result"]["stderr"]
    assert "PATH=/usr/local/bin:/usr/bin:/bin\n" in seen["result"]["stdout"]
    assert "not-for-children" not in seen["result"]["stdout"]
    assert ("tool.call.dispatched", "Exec", "coder") == (
        first["kind"],
        first["tool"],
        first["agent"],
    )
    assert ["/bin/ls", "-d", ".", "absent"] == first["args"]["argv"]
    assert done["id"] in {row["id"] for row in gateway.json("history")}
    assert 0 == gateway.cli("audit", "verify").returncode


def test_what_is_refused_has_its_name(gateway: GatewayProcess) -> None:
    """Each error of the page, and nothing ran."""
    errors = [
        call(gateway, agent="main", argv=["/bin/echo"])["error"],
        call(gateway, argv=["echo"])["error"],
        call(gateway, argv=["/etc/passwd"])["error"],
        call(gateway, argv=["/bin/echo"], env={"PATH": "/tmp"})["error"],
    ]

    assert ["permission_denied", "invalid_args", "fs_denied", "denied"] == errors
    assert errors == [record["error"] for record in records(gateway) if "error" in record]


def test_an_agent_without_the_tool_notices_nothing(gateway: GatewayProcess) -> None:
    """Criterion 10 from outside: the old way in answers as it always did."""
    done = gateway.cli("run", "--agent", "coder", "-c", "echo one && echo two")

    assert (3, True) == (done.returncode, "outside the folders" in done.stderr + done.stdout)
    work = gateway.home.parent / "work"
    done = gateway.cli("run", "--agent", "coder", "--cwd", str(work), "-c", "echo one && echo two")
    assert (0, "one\ntwo\n") == (done.returncode, done.stdout)
    assert [] == records(gateway)

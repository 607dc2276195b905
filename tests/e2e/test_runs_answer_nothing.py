"""What Sayso itself runs neither answers nor grants rights: an agent could approve itself."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.client import Client
from tests.support.gateway_process import ROOT, GatewayProcess, write_config
from tests.support.waiting import wait_until


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Yield a gateway with one agent that must ask, and one that runs `sayso` without asking."""
    home = tmp_path / "home"
    write_config(home, None)
    config = json.loads((home / "config.json5").read_text())
    free = {"exec": {"security": "full", "ask": "off"}}
    config["agents"] = {"list": [{"id": "helper", "tools": free}]}
    (home / "config.json5").write_text(json.dumps(config))
    approvals = json.loads((home / "exec-approvals.json").read_text())
    approvals["agents"]["helper"] = {"security": "full", "ask": "off"}
    (home / "exec-approvals.json").write_text(json.dumps(approvals))
    sayso = tmp_path / "sayso"
    words = f"cd {ROOT} && SAYSO_HOME={home} exec {sys.executable} -m bot"
    sayso.write_text(f'#!/bin/sh\n{words} "$@"\n')
    sayso.chmod(0o755)
    running = GatewayProcess(home)
    running.start()
    yield running
    running.stop()


def run(gateway: GatewayProcess, *words: str, capture: str = "combined") -> dict[str, object]:
    """Let the gateway run `sayso` for the other agent."""
    argv = [str(gateway.home.parent / "sayso"), *words]
    params = {"argv": argv, "cwd": "/tmp", "agent": "helper", "capture": capture}
    with Client(str(gateway.home / "gateway.sock")) as client:
        found = client.call("exec.run", params, timeout=60)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("capture", ["combined", "pty"])
def test_a_run_answers_no_question(gateway: GatewayProcess, tmp_path: Path, capture: str) -> None:
    """Its kernel session has asked for nothing, yet it descends from one that did."""
    gateway.cli("run", "--no-wait", "--cwd", str(tmp_path), "-c", "touch made")
    code = gateway.json("pending")[0]["code"]

    answered = run(gateway, "approve", code, "allow-once", capture=capture)

    assert answered["status"] == "finished"
    assert answered["exitCode"] not in {0, None}, answered
    assert "started by Sayso" in str(answered["output"])
    assert [one["code"] for one in gateway.json("pending")] == [code]
    assert not (tmp_path / "made").exists()
    person = gateway.cli("approve", code, "allow-once", own_session=True)
    assert person.returncode == 0
    wait_until("the file", (tmp_path / "made").exists)


def test_a_run_with_a_terminal_is_no_person_at_one(gateway: GatewayProcess) -> None:
    """`capture: pty` makes it the foreground of a terminal of its own."""
    made = run(gateway, "people", "add", "mallory", capture="pty")
    token = run(gateway, "token", "create", "t", "--scope", "admin", capture="pty")

    assert [made["exitCode"], token["exitCode"]] == [3, 3], (made, token)
    assert "started by Sayso" in str(made["output"])
    assert "sayso_" not in str(token["output"])
    assert gateway.json("people", "list") == []

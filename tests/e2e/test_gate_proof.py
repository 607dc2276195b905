"""Have a real gateway prove every way in; anyone locks it down, only a person opens it."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bot.client import Client
from tests.support.gateway_process import BotApi, GatewayProcess, bot_api, write_config
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")
FILES = {"read": ["/usr/bin"]}
AGENTS = {"list": [{"id": "coder", "capabilities": {"tools": ["Exec"], "files": FILES}}]}


@pytest.fixture(scope="module")
def chat() -> Iterator[BotApi]:
    """Yield a Telegram server."""
    with bot_api() as api:
        yield api


def made(home: Path, api: BotApi | None, **more: Any) -> GatewayProcess:
    """Return a gateway with every way in, not yet started."""
    write_config(home, api)
    file = home / "config.json5"
    config = json.loads(file.read_text())
    config["http"] = {"enabled": True, "listen": "127.0.0.1:0"}
    config["agents"] = AGENTS
    config["remote"] = {"listen": [_listener(home)]}
    file.write_text(json.dumps({**config, **more}))
    return GatewayProcess(home)


def _listener(home: Path) -> str:
    return f"unix:{home}/exec.sock"


def ways(gateway: GatewayProcess) -> set[str]:
    """Return the ways in of a gateway."""
    return {"socket", "tool", "chat", "rest", "websocket", f"remote {_listener(gateway.home)}"}


def health(gateway: GatewayProcess) -> dict[str, Any]:
    """Return what `health.get` answers."""
    with Client(str(gateway.home / "gateway.sock")) as client:
        return client.call("health.get", {})


def records(gateway: GatewayProcess, kind: str) -> list[dict[str, Any]]:
    """Return the journal's records of a kind; the last line may still be half written."""
    *lines, _half = (gateway.home / "audit.jsonl").read_text(encoding="utf-8").split("\n")
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def proved(gateway: GatewayProcess) -> dict[str, Any] | None:
    """Return the health once every way in has been proved."""
    found = health(gateway)
    return found if set(found["gateProofs"]) == ways(gateway) else None


def held(gateway: GatewayProcess) -> dict[str, Any] | None:
    """Return the health once the last proof of every way in held."""
    found = proved(gateway)
    states = {proof["state"] for proof in found["gateProofs"].values()} if found else set()
    return found if states == {"held"} else None


def doctor_says_held(gateway: GatewayProcess) -> bool:
    """Return whether `sayso doctor` says that every way in held."""
    told = gateway.cli("doctor").stdout
    return all(f"gate proof {way}: held" in told for way in ways(gateway))


def test_every_way_in_is_proved_by_the_clock(tmp_path: Path, chat: BotApi) -> None:
    """Health and doctor say when and by which way; no person sees it, and no list shows it."""
    gateway = made(tmp_path / "home", chat, proof={"every": 0.4})
    before = len(chat.messages())
    gateway.start()
    try:
        # On a machine that freezes for a second, the chat answers one of them too late.
        found = wait_until("a proof of all", lambda: held(gateway))
        wait_until("three rounds", lambda: len(records(gateway, "proof")) >= 3)
        wait_until("a doctor who says so", lambda: doctor_says_held(gateway))
        listed = [gateway.json("pending"), gateway.json("history"), gateway.events("gate-proof")]
    finally:
        gateway.stop()

    assert all(found["parts"][f"gate proof {way}"]["ok"] for way in ways(gateway))
    assert [[], [], []] == listed
    assert before == len(chat.messages())
    rounds = records(gateway, "proof")[:3]
    assert [set(record["ways"]) for record in rounds] == [ways(gateway)] * 3


def test_a_lockdown_from_the_first_refusal_to_the_last(tmp_path: Path, chat: BotApi) -> None:
    """A program locks, people are notified once, and only a person at a terminal opens."""
    gateway = made(tmp_path / "home", chat)
    gateway.start()
    try:
        assert 0 == gateway.cli("run", "--", "true").returncode
        wait_until("the first proof", lambda: proved(gateway))
        on = gateway.cli("lockdown", "on", "--why", "runs wild", own_session=True)
        refused = gateway.cli("run", "--", "true")
        wait_until("the alert", lambda: _alerts(chat))
        off = gateway.cli("lockdown", "off", own_session=True)
        gateway.kill()
        gateway.start()
        still = gateway.cli("run", "--", "true")
        shown = gateway.cli("lockdown", "status")
        wait_until("the first proof", lambda: proved(gateway))
        locked = health(gateway)
        doctor = gateway.cli("doctor")
        code, said = in_terminal(*SAYSO, "lockdown", "off", environ=gateway.environ())
        after = gateway.cli("run", "--", "true")
    finally:
        gateway.stop()

    assert 0 == on.returncode
    assert (3, 3) == (refused.returncode, still.returncode)
    assert "locked_down" in refused.stderr
    assert "runs wild" in refused.stderr
    assert 3 == off.returncode
    assert "Only a person at a terminal" in off.stderr
    assert (3, True) == (shown.returncode, "runs wild" in shown.stdout)
    assert (False, False) == (locked["ok"], locked["parts"]["lockdown"]["ok"])
    assert 1 == doctor.returncode
    assert "fail  lockdown: " in doctor.stdout
    assert (0, True) == (code, "Every entry point passed" in said)
    assert 0 == after.returncode
    assert ["on", "on", "off"] == [record["state"] for record in records(gateway, "lockdown")]
    assert 1 == len(_alerts(chat))


def _alerts(chat: BotApi) -> list[str]:
    return [one["text"] for one in chat.messages() if "locked down" in one["text"]]


def test_it_locks_while_no_gateway_runs(tmp_path: Path) -> None:
    """By the file alone; lifting needs a gateway that proves itself."""
    gateway = made(tmp_path / "home", None)
    before = gateway.json("lockdown", "status")
    on = gateway.json("lockdown", "on")
    status = gateway.cli("lockdown", "status", "--json")
    off = gateway.cli("lockdown", "off")

    assert not before["locked"]
    assert (True, False) == (on["locked"], on["announced"])
    assert (3, True) == (status.returncode, json.loads(status.stdout)["locked"])
    assert 1 == off.returncode

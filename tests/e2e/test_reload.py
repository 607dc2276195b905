"""SIGHUP reloads the configuration of a background gateway; a closed terminal stops one."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.running import running_gateway, start
from tests.support.gateway_process import ANA, BOB, BotApi, GatewayProcess
from tests.support.terminal import terminal
from tests.support.waiting import wait_until

_DEAF = """
import asyncio.unix_events as unix, signal, sys
loop = unix._UnixSelectorEventLoop
heed = loop.add_signal_handler
loop.add_signal_handler = lambda self, number, *how: (
    None if number == signal.SIGHUP else heed(self, number, *how)
)
from bot.cli import main
sys.exit(main(["serve"]))
"""
"""A gateway that leaves SIGHUP to the kernel, as it was before."""

_IGNORING = """
import os, signal, sys
signal.signal(signal.SIGHUP, signal.SIG_IGN)
os.execv(sys.executable, [sys.executable, "-m", "bot", "serve"])
"""
"""A gateway that was started as `nohup` does."""


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Run a gateway without a chat, in the background."""
    with running_gateway(tmp_path / "home") as running:
        yield running


def change(gateway: GatewayProcess, **sections: Any) -> None:
    """Rewrite sections of the configuration."""
    path = gateway.home / "config.json5"
    path.write_text(json.dumps(json.loads(path.read_text()) | sections))


def hang_up(gateway: GatewayProcess, words: str = "the configuration was reloaded") -> str:
    """Send SIGHUP, wait until the log has these words again, and return what was logged."""
    assert gateway.process is not None
    wait_until("the start's last line", lambda: "sayso: listening" in gateway.log.read_text())
    before = len(gateway.log.read_text())
    gateway.process.send_signal(signal.SIGHUP)
    wait_until("the reload", lambda: words in gateway.log.read_text()[before:], seconds=30)
    return gateway.log.read_text()[before:]


def records(gateway: GatewayProcess) -> list[dict[str, Any]]:
    """Return what the journal says about configurations."""
    lines = (gateway.home / "audit.jsonl").read_text().splitlines()
    return [one for one in map(json.loads, lines) if one["kind"] == "config"]


def test_a_policy_is_taken_over_while_a_command_runs(plain: GatewayProcess) -> None:
    """What asked before now runs after SIGHUP; running commands end as usual; it is audited."""
    assert plain.cli("run", "--no-wait", "-c", "id -un").returncode == 4
    with start(plain, "-c", "echo begun; sleep 3; exit 7") as running:
        assert running.stdout is not None
        assert running.stdout.readline() == b"begun\n"
        exec_ = {"host": "gateway", "security": "full", "ask": "off"}
        change(plain, tools={"exec": exec_})
        hang_up(plain)
        done = plain.cli("run", "-c", "id -un")
        running.communicate(timeout=30)

    assert (done.returncode, running.returncode) == (0, 7), done.stderr
    (record,) = records(plain)
    assert record["changed"]["tools.exec.security"] == {"from": '"allowlist"', "to": '"full"'}
    assert record["after_restart"] == []


def test_what_asks_stays_asked_without_a_signal(plain: GatewayProcess) -> None:
    """The control: the file alone changes nothing."""
    change(plain, tools={"exec": {"host": "gateway", "security": "full", "ask": "off"}})

    assert plain.cli("run", "--no-wait", "-c", "id -un").returncode == 4


def test_a_broken_configuration_leaves_the_old_one(plain: GatewayProcess) -> None:
    """One line says what is wrong; what ran before still runs, what asked still asks."""
    change(plain, tools={"exec": {"host": "gateway", "security": "fully"}}, nonsense=1)
    said = hang_up(plain, "stays in effect")

    assert [line for line in said.splitlines() if "stays in effect" in line] == said.splitlines()
    assert "config.json5" in said
    assert "sayso config check" in said
    assert plain.cli("run", "--agent", "free", "-c", "id -un").returncode == 0
    assert plain.cli("run", "--no-wait", "-c", "id -un").returncode == 4
    assert records(plain) == []


def test_what_needs_a_restart_is_named(plain: GatewayProcess) -> None:
    """A setting that only a start reads is named at each reload, and has no effect."""
    change(plain, http={"enabled": True, "listen": "127.0.0.1:0"}, store={"retentionDays": 7})
    for _ in range(2):
        said = hang_up(plain)
        assert "http.enabled takes effect after a restart" in said
        assert "store.retentionDays takes effect after a restart" in said

    assert "the API is at" not in plain.log.read_text()
    assert records(plain)[0]["after_restart"] == [
        "http.enabled",
        "http.listen",
        "store.retentionDays",
    ]


def test_lists_of_people_are_taken_over(gateway: GatewayProcess, api: BotApi) -> None:
    """A person no longer listed is refused at an earlier question; a new one counts."""
    gateway.cli("run", "--no-wait", "-c", "id -un")
    prompt = api.prompt("id -un")
    assert f"id {BOB} is not" in api.told(api.press(prompt, "Deny", BOB))
    channels = json.loads((gateway.home / "config.json5").read_text())["channels"]
    channels["telegram"]["approvers"] = [BOB]
    change(gateway, channels=channels)
    hang_up(gateway)

    assert f"id {ANA} is not" in api.told(api.press(prompt, "Deny", ANA))
    api.press(prompt, "Deny", BOB)
    wait_until("the edit", lambda: [one for one in api.messages() if "Denied" in one["text"]])


def test_signals_that_come_together_leave_one_in_effect(plain: GatewayProcess) -> None:
    """Fifty signals while the file changes: the gateway survives and uses the last version."""
    assert plain.process is not None
    for number in range(50):
        change(plain, approvals={"exec": {"timeout": 60 + number}})
        plain.process.send_signal(signal.SIGHUP)
    change(plain, tools={"exec": {"host": "gateway", "security": "full", "ask": "off"}})
    hang_up(plain, "tools.exec.security")

    assert plain.cli("run", "-c", "id -un").returncode == 0


@pytest.mark.parametrize("guarded", [True, False])
def test_a_closed_terminal_stops_a_gateway_in_its_foreground(
    tmp_path: Path, *, guarded: bool
) -> None:
    """It ends in order and knows how its command ended; unguarded (the control), it does not."""
    gateway = GatewayProcess(tmp_path / "home")
    with running_gateway(gateway.home):
        pass  # its configuration and its store
    words = ("-m", "bot", "serve") if guarded else ("-c", _DEAF)
    with terminal(sys.executable, *words, environ=gateway.environ()) as (front, master):
        gateway.process = front
        wait_until("the gateway", gateway._answers, seconds=30)
        asking = gateway.ask("--agent", "free", "-c", "sleep 61")
        wait_until("the command", lambda: "Exec started" in " ".join(gateway.events()), seconds=30)
        replaced = os.open(os.devnull, os.O_RDONLY)
        os.dup2(replaced, master)  # closes our end of the terminal
        os.close(replaced)
        code = front.wait(30)
        asking.kill()
        asking.communicate()
    gateway.start()
    (run,) = [one for one in gateway.json("history") if one["command"] == "sleep 61"]
    gateway.stop()

    assert code == (0 if guarded else -signal.SIGHUP)
    assert ("cancelled" in run["how"], "unknown" in run["how"]) == (guarded, not guarded), run


def test_nohup_lets_a_gateway_reload(tmp_path: Path) -> None:
    """With a terminal as its input, but told to ignore SIGHUP, it runs in the background."""
    gateway = GatewayProcess(tmp_path / "home")
    with running_gateway(gateway.home):
        pass
    words = (sys.executable, "-c", _IGNORING)
    with terminal(*words, environ=gateway.environ()) as (front, master):
        gateway.process = front
        wait_until("the gateway", gateway._answers, seconds=30)
        front.send_signal(signal.SIGHUP)
        seen = b""
        while b"was reloaded" not in seen:
            seen += os.read(master, 65_536)
        front.send_signal(signal.SIGTERM)
        assert _end(front, master) == 0


def _end(process: "subprocess.Popen[bytes]", master: int) -> int:
    """Wait for a process that may still write to its terminal."""
    try:
        while os.read(master, 65_536):
            pass
    except OSError:
        pass
    return process.wait(30)

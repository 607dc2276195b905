"""Stop a gateway with everything connected: fast, every waiting client told, no press lost."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.support.gateway_process import ROOT, GatewayProcess
from tests.support.pace import slowness
from tests.support.platform_processes import PLACES, Chat, chats, configure, copies, remember
from tests.support.prompt_copies import Copy
from tests.support.terminal import in_terminal
from tests.support.waiting import wait_until

SAYSO = (sys.executable, "-m", "bot")
HERE = {name: places[0].conversation for name, places in PLACES.items()}
EVERYWHERE: dict[str, Any] = {
    "mode": "targets",
    "targets": [{"channel": name, "to": place} for name, place in HERE.items()],
}
"""Each question is asked on all three platforms."""
_OPEN = """
import sys, bot.app
async def nothing(gate, sockets):
    return None
bot.app._close = nothing
from bot.cli import main
sys.exit(main(["serve"]))
"""
"""A gateway that stops without closing its gate first."""


@dataclass
class OpenGateway(GatewayProcess):
    """The control: a gateway whose gate stays open while it stops."""

    def start(self) -> None:
        """Start and wait until the socket answers."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _OPEN],
                cwd=ROOT,
                env=self.environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until("the gateway's socket", self._answers, seconds=30)


@pytest.fixture
def three() -> Iterator[dict[str, Chat]]:
    """Run the three platforms' servers."""
    with chats() as running:
        yield running


@contextmanager
def gateway_of(
    home: Path, three: dict[str, Chat], kind: type[GatewayProcess], **exec_: Any
) -> Iterator[Any]:
    """Run a gateway over three platforms with an API; the agent `free` may run everything."""
    configure(home, three, [f"uid:{os.getuid()}"], **exec_)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    config["http"] = {"enabled": True, "listen": "127.0.0.1:0"}
    free = {"security": "full", "ask": "off"}
    config["agents"] = {"list": [{"id": "free", "tools": {"exec": free}}]}
    path.write_text(json.dumps(config))
    remember(home, [places[0] for places in PLACES.values()])
    gateway = kind(home)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


@dataclass
class Clients:
    """Clients that wait for people: `sayso run`, one over HTTP, one over WebSocket."""

    gateway: GatewayProcess
    token: str
    pool: ThreadPoolExecutor

    def ask(self) -> "Asked":
        """Let each of them ask something, and wait until all three questions exist."""
        running = self.gateway.ask("-c", "touch by-run")
        http = self.pool.submit(self._post)
        socket = self.pool.submit(self._converse)
        wait_until("three questions", lambda: len(self.gateway.json("pending")) == 3, 30, 0.2)
        return Asked(running, http, socket)

    def _url(self) -> str:
        return str(re.findall(r"API is at (\S+)", self.gateway.log.read_text())[-1])

    def _post(self) -> tuple[int, dict[str, Any]]:
        headers = {"Authorization": f"Bearer {self.token}"}
        wish = {"command": "touch by-http", "cwd": "/"}
        url = f"{self._url()}/v1/requests?wait=60"
        try:
            answer = httpx.post(url, json=wish, headers=headers, timeout=90)
        except httpx.HTTPError as error:
            return 0, {"error": {"code": type(error).__name__}}
        return answer.status_code, answer.json()

    def _converse(self) -> tuple[list[Any], int]:
        """Return the frames that arrived, and the code that closed the connection."""
        frames: list[Any] = []
        offers: Any = ["sayso.v1", f"bearer.{self.token}"]
        address = self._url().replace("http", "ws") + "/ws"
        with connect(address, subprotocols=offers) as line:
            wish = {"command": "touch by-ws", "cwd": "/"}
            line.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "exec.run", "params": wish}))
            try:
                while True:
                    frames.append(json.loads(line.recv(90)))
            except ConnectionClosed as closed:
                return frames, closed.rcvd.code if closed.rcvd else 0


@dataclass
class Asked:
    """What waits, and what each of them receives."""

    run: "subprocess.Popen[str]"
    http: "Future[tuple[int, dict[str, Any]]]"
    socket: "Future[tuple[list[Any], int]]"


def stopped(gateway: GatewayProcess) -> float:
    """Send SIGTERM and return how many seconds the gateway lived after it."""
    assert gateway.process is not None
    began = time.monotonic()
    gateway.process.send_signal(signal.SIGTERM)
    assert gateway.process.wait(60) == 0
    return time.monotonic() - began


def busy() -> float:
    """Return the seconds that a stop may take now: one, and more while the machine is busy.

    Processes wait for their turns, which no measure of plain instructions shows: another Python
    that starts and exits waits in the same way. It takes 0.25 s where nothing else runs.
    """
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import asyncio, httpx"], check=True)
    return max(slowness(), (time.monotonic() - began) / 0.25)


def clients_of(gateway: GatewayProcess, pool: ThreadPoolExecutor) -> Clients:
    """Make a token for the clients of a gateway."""
    words = ("token", "create", "ci", "--scope", "request", "--agent", "main", "--json")
    code, text = in_terminal(*SAYSO, *words, environ=gateway.environ())
    assert code == 0, text
    return Clients(gateway, json.loads(text[text.index("{") :])["token"], pool)


@pytest.mark.timeout(180)
def test_waiting_clients_are_told_and_the_stop_takes_a_second(
    tmp_path: Path, three: dict[str, Chat], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each is told that the gateway stops and its request's id; `sayso run` keeps waiting."""
    took: list[float] = []
    with gateway_of(tmp_path / "home", three, GatewayProcess, **EVERYWHERE) as gateway:
        with ThreadPoolExecutor(2) as pool:
            asked = clients_of(gateway, pool).ask()
            rows = {one["command"]: one["id"] for one in gateway.json("pending")}
            took.append(stopped(gateway))
            status, answer = asked.http.result(30)
            frames, code = asked.socket.result(30)
        assert asked.run.poll() is None
        gateway.start()
        for row in gateway.json("pending"):
            gateway.cli("cancel", row["id"], own_session=True)
        _, said = asked.run.communicate(timeout=30)
        slow = [busy()]
        while took[-1] > slow[-1] and len(took) < 5:  # a busy moment is not the gateway's fault
            took.append(stopped(gateway))
            slow.append(busy())
            gateway.start()

    with capsys.disabled():
        print(f"\nstopped in {took[-1]:.2f} s, where {slow[-1]:.2f} s is the limit")
    assert (status, answer["error"]["code"]) == (503, "stopping")
    assert rows["touch by-http"] in answer["error"]["message"]
    assert [one["error"]["code"] for one in frames] == [-32004]
    assert rows["touch by-ws"] in frames[0]["error"]["message"]
    assert code == 1012
    assert "connection lost; reconnecting for up to 30 s" in said
    assert "cancelled" in said, said
    assert took[-1] <= slow[-1], (took, slow)


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_open_gate_tells_nobody(tmp_path: Path, three: dict[str, Chat]) -> None:
    """The control: without closing it first, clients are disconnected without a word."""
    with gateway_of(tmp_path / "home", three, OpenGateway, **EVERYWHERE) as gateway:
        with ThreadPoolExecutor(2) as pool:
            asked = clients_of(gateway, pool).ask()
            stopped(gateway)
            status, _ = asked.http.result(30)
            frames, _ = asked.socket.result(30)
        asked.run.kill()
        asked.run.communicate()

    assert status == 0
    assert frames == []


def shown(three: dict[str, Chat], name: str) -> Copy:
    """Wait for the one prompt of a platform that has buttons."""
    found: Copy = wait_until(
        f"a prompt on {name}", lambda: next((one for one in three[name].copies() if one.open), None)
    )
    return found


def ask_everywhere(gateway: GatewayProcess, cwd: Path) -> None:
    """Ask one question on each platform."""
    for name, place in HERE.items():
        line = f"echo {name} >> ledger"
        gateway.cli("run", "--no-wait", "--cwd", str(cwd), "--session", place, "-c", line)


def press_while_it_stops(gateway: GatewayProcess, three: dict[str, Chat]) -> dict[str, Any]:
    """Allow each question while a command delays the stop; return the presses."""
    prompts = {name: shown(three, name) for name in HERE}
    running = gateway.ask("--agent", "free", "-c", "sleep 30")
    wait_until("the command", lambda: "Exec started" in " ".join(gateway.events()), 30)
    assert gateway.process is not None
    gateway.process.send_signal(signal.SIGTERM)
    socket = gateway.home / "gateway.sock"
    wait_until("the closed gate", lambda: not socket.exists(), 30)
    pressed = {name: three[name].press(prompts[name], "Allow once") for name in HERE}
    assert gateway.process.wait(60) == 0
    running.communicate(timeout=60)
    return pressed


def ledger(cwd: Path) -> list[str]:
    """Return what ran."""
    path = cwd / "ledger"
    return sorted(path.read_text().split()) if path.exists() else []


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_press_during_the_stop_is_refused_in_words_or_comes_again(
    tmp_path: Path, three: dict[str, Chat]
) -> None:
    """Slack and Discord say that nothing was changed; Telegram keeps it for the next start."""
    with gateway_of(tmp_path / "home", three, GatewayProcess) as gateway:
        ask_everywhere(gateway, tmp_path)
        pressed = press_while_it_stops(gateway, three)
        told = {
            "discord": three["discord"].control("interaction", token=pressed["discord"])["notes"],
            "slack": [json.dumps(one) for one in three["slack"].control("whispers")],
        }
        assert ledger(tmp_path) == []
        gateway.start()
        wait_until(
            "the run of the press that came again", lambda: ledger(tmp_path) == ["telegram"], 30
        )
        for name in ("slack", "discord"):
            three[name].press(shown(three, name), "Allow once")
        wait_until("the runs of new presses", lambda: len(ledger(tmp_path)) == len(HERE), 30)
        wait_until("the edits", lambda: not [one for one in copies(three) if one.open], 30)

    for name, notes in told.items():
        assert "Sayso is stopping; nothing was changed" in " ".join(notes), (name, told)
    assert ledger(tmp_path) == sorted(HERE)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_command_that_people_allowed_holds_up_the_stop_for_five_seconds(
    tmp_path: Path, three: dict[str, Chat]
) -> None:
    """Not for as long as it runs; its caller and the history learn how it ended."""
    with gateway_of(tmp_path / "home", three, GatewayProcess) as gateway:
        asking = gateway.ask("--session", HERE["slack"], "-c", "sleep 61")
        three["slack"].press(shown(three, "slack"), "Allow once")
        wait_until(
            "the command",
            lambda: "Exec started" in " ".join(gateway.events(HERE["slack"])),
            30,
        )
        took = stopped(gateway)
        _, said = asking.communicate(timeout=60)
        gateway.start()
        (run,) = [one for one in gateway.json("history") if one["command"] == "sleep 61"]

    assert "cancelled after" in said
    assert "cancelled" in run["how"]
    assert 5 <= took < 30

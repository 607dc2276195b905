"""Start real gateways and a real Bot API server as processes, and stop them in every way."""

import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bot.client import Client
from core.errors import SaysoError
from tests.support.product_process import run, start
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
CHAT = "77"
ANA, BOB = "1001", "1002"
"""Ana is an approver, Bob is not."""


@dataclass
class BotApi:
    """The tests' Bot API server, in a process of its own."""

    process: subprocess.Popen[str]
    url: str
    token: str

    def control(self, verb: str, **params: Any) -> Any:
        """Call the server's control endpoint, which plays the people."""
        request = urllib.request.Request(
            f"{self.url}/control/{verb}",
            data=json.dumps(params).encode(),
            headers={"Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def messages(self) -> list[dict[str, Any]]:
        """Return the chat's messages, oldest first, as they look now."""
        found: list[dict[str, Any]] = self.control("messages", chat=int(CHAT))
        return found

    def prompt(self, words: str) -> dict[str, Any]:
        """Wait for a message with buttons that contains these words."""

        def look() -> dict[str, Any] | None:
            for message in self.messages():
                if message.get("reply_markup") and words in message["text"]:
                    return message
            return None

        found: dict[str, Any] = wait_until(f"a prompt with {words!r}", look)
        return found

    def press(self, message: dict[str, Any], label: str, user: str = ANA) -> str:
        """Press a button of a message as a person; return the id of the press."""
        query: str = self.control(
            "press", chat=int(CHAT), message=message["message_id"], user=int(user), button=label
        )
        return query

    def press_old(self, prompt: dict[str, Any], label: str, user: str = ANA) -> str:
        """Press a button on a copy that the person's client has not refreshed yet."""
        (row,) = prompt["reply_markup"]["inline_keyboard"]
        (data,) = [button["callback_data"] for button in row if button["text"] == label]
        query: str = self.control(
            "press_old", chat=int(CHAT), message=prompt["message_id"], user=int(user), data=data
        )
        return query

    def told(self, query: str) -> str:
        """Wait for the answer that the person who pressed sees."""

        def look() -> dict[str, Any] | None:
            press: dict[str, Any] = self.control("presses", query=query)
            return press if press["answered"] else None

        return str(wait_until("the answer to a press", look)["text"])

    def say(self, text: str, user: str = ANA, **extra: Any) -> None:
        """Write a message into the chat as a person."""
        self.control("say", chat=int(CHAT), user=int(user), text=text, **extra)


@contextmanager
def bot_api() -> Iterator[BotApi]:
    """Run the Bot API server for as long as the block lasts."""
    process = start(
        [sys.executable, "-m", "tests.emulators.telegram", "--port", "0"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        started = json.loads(process.stdout.readline())
        yield BotApi(process, f"http://127.0.0.1:{started['port']}", started["token"])
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


def ended(process: subprocess.Popen[bytes]) -> int:
    """Ask a process to end and return its exit code.

    Raises:
        TimeoutExpired: it did not end; it is killed.
    """
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(10)
        raise


@dataclass
class GatewayProcess:
    """`sayso serve` over one home; it can be killed and started again."""

    home: Path
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(init=False)
    module: str = "bot"
    options: tuple[str, ...] = ()
    real: bool = False
    """Started by exec: see ``product_process``."""

    def __post_init__(self) -> None:
        self.log = self.home / "gateway.log"

    def start(self) -> None:
        """Start and wait until the socket answers."""
        with self.log.open("ab") as log:
            self.process = start(
                self.argv(),
                real=self.real,
                cwd=ROOT,
                env=self.environ(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_until("the gateway's socket", self._answers, seconds=90)

    def argv(self) -> list[str]:
        """Return the command by which it is started."""
        return [sys.executable, "-m", self.module, "serve", *self.options]

    def _answers(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise AssertionError(f"the gateway ended:\n{self.log.read_text()[-3000:]}")
        try:
            with Client(str(self.home / "gateway.sock")) as client:
                client.call("exec.approval.list", {"limit": 1}, timeout=5)
        except (SaysoError, OSError):
            return False
        return True

    def environ(self) -> dict[str, str]:
        """Return the environment of every process of this gateway."""
        return {**os.environ, "SAYSO_HOME": str(self.home)}

    def kill(self) -> None:
        """End it as a crash would: SIGKILL."""
        assert self.process is not None
        self.process.kill()
        self.process.wait(10)

    def stop(self) -> int:
        """End it as an operator would, and return its exit code.

        Raises:
            TimeoutExpired: it did not end; it is killed.
        """
        assert self.process is not None
        return ended(self.process)

    def cli(self, *words: str, own_session: bool = False) -> subprocess.CompletedProcess[str]:
        """Run one command of the CLI to its end."""
        return self.cli_at(self.home, *words, own_session=own_session)

    def cli_at(
        self, home: Path, *words: str, own_session: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run one command of the CLI over another home."""
        return run(
            [sys.executable, "-m", "bot", *words],
            cwd=ROOT,
            env={**self.environ(), "SAYSO_HOME": str(home)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            start_new_session=own_session,
        )

    def ask(self, *words: str) -> subprocess.Popen[str]:
        """Start `sayso run` with these words without waiting for it."""
        return start(
            [sys.executable, "-m", "bot", "run", *words],
            cwd=ROOT,
            env=self.environ(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def json(self, *words: str) -> Any:
        """Run a command with --json and return what it printed."""
        done = self.cli(*words, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def events(self, session: str = "main") -> list[str]:
        """Return the texts of the session's events that are not acknowledged."""
        done = self.cli("events", "drain", session, "--json")
        return [json.loads(line)["text"] for line in done.stdout.splitlines()]


def write_config(home: Path, api: BotApi | None, **approvals: Any) -> None:
    """Write the settings of a gateway that asks in Telegram and runs on this machine."""
    config: dict[str, Any] = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "on-miss"}},
        "approvals": {
            "exec": {
                "mode": "targets",
                "targets": [{"channel": "telegram", "to": CHAT}] if api else [],
                "timeout": 60,
                **approvals,
            }
        },
        "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
    }
    if api is not None:
        config["channels"]["telegram"] = {
            "token": api.token,
            "apiBaseUrl": api.url,
            "approvers": [ANA],
            "pollTimeout": 2,
        }
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.json5").write_text(json.dumps(config, indent=2))
    (home / "config.json5").chmod(0o600)
    allow = {
        "version": 1,
        "agents": {
            "main": {"allowlist": [{"pattern": "/usr/bin/echo"}, {"pattern": "/usr/bin/true"}]}
        },
    }
    path = home / "exec-approvals.json"
    path.write_text(json.dumps(allow))
    path.chmod(0o600)

"""Configure a gateway that is killed while it handles requests, and ask and answer from outside."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.client import Client
from core.errors import SaysoError
from tests.support.gateway_process import ROOT, GatewayProcess


def configure(home: Path, commands: Path, url: str | None) -> None:
    """Write settings under which this machine's approver decides."""
    config = {
        "tools": {"exec": {"host": "gateway", "security": "allowlist"}},
        "approvals": {"exec": {"mode": "targets", "timeout": 600}},
        "channels": {"terminal": {"approvers": [f"uid:{os.getuid()}"]}},
        **({"store": {"url": url}} if url else {}),
    }
    home.mkdir(mode=0o700)
    (home / "config.json5").write_text(json.dumps(config))
    (home / "config.json5").chmod(0o600)
    entry = {"pattern": str(commands / "listed")}
    file = home / "exec-approvals.json"
    file.write_text(json.dumps({"version": 1, "agents": {"main": {"allowlist": [entry]}}}))
    file.chmod(0o600)


@dataclass
class History:
    """What callers were told: request key to the answers, in order."""

    asked: set[str] = field(default_factory=set)
    told: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, key: str, answer: dict[str, object]) -> None:
        """Record one answer."""
        with self.lock:
            self.told.setdefault(key, []).append(answer)


def caller(socket: str, commands: Path, history: History, stop: threading.Event, name: str) -> None:
    """Ask without end: two commands that policy allows for one that a person must allow."""
    number = 0
    while not stop.is_set():
        try:
            with Client(socket) as client:
                while not stop.is_set():
                    number += 1
                    key = f"{name}-{number}"
                    program = "asked" if number % 3 == 0 else "listed"
                    history.asked.add(key)
                    wish = {
                        "argv": [str(commands / program), key],
                        "cwd": str(commands),
                        "requestKey": key,
                        "wait": False,
                    }
                    history.note(key, client.call("exec.run", wish))
        except (SaysoError, OSError):
            time.sleep(0.02)


def scripts(folder: Path) -> Path:
    """Write two programs that append their argument to the ledger, slowly enough to be hit."""
    folder.mkdir()
    for name, seconds in (("listed", 0.02), ("asked", 0.1)):
        path = folder / name
        path.write_text(f'#!/bin/sh\necho "$1" >> {folder}/ran\n/bin/sleep {seconds}\n')
        path.chmod(0o755)
    (folder / "ran").touch()
    return folder


@contextmanager
def load(
    gateway: GatewayProcess, commands: Path, history: History, most: int = 3
) -> Iterator[Path]:
    """Ask and answer from outside for as long as the block lasts; yield the approver's ledger.

    ``most``: so many ask at once.
    """
    socket = str(gateway.home / "gateway.sock")
    ledger = gateway.home / "decisions"
    ledger.touch()
    stop = threading.Event()
    callers = [
        threading.Thread(
            target=caller, args=(socket, commands, history, stop, f"{gateway.home.name}{n}")
        )
        for n in range(most)
    ]
    approver = subprocess.Popen(
        [sys.executable, "-m", "tests.faults.approver", socket, str(ledger)],
        cwd=ROOT,
        start_new_session=True,
    )
    for thread in callers:
        thread.start()
    try:
        yield ledger
    finally:
        stop.set()
        for thread in callers:
            thread.join(30)
        time.sleep(0.5)
        approver.kill()
        approver.wait()

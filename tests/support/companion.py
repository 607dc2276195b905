"""Run a gateway with a companion, in this process, and drive its screen as a person would."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from bot.companion.dialog_queue import DialogQueue
from bot.companion.run import works
from bot.companion.screen import CALM_S, CompanionScreen
from core.approvals.file.file import ApprovalsFile
from core.companion.server import serve
from tests.support.gateway_process import ROOT, BotApi, GatewayProcess, write_config
from tests.support.product_process import start
from tests.support.waiting import until

UID = f"uid:{os.getuid()}"


def configure(
    home: Path,
    *,
    api: BotApi | None = None,
    approvers: tuple[str, ...] = (UID,),
    fallback: str | None = None,
    **approvals: Any,
) -> None:
    """Write the settings of a gateway that asks at the companion, and not at a terminal."""
    write_config(home, api, **approvals)
    path = home / "config.json5"
    config = json.loads(path.read_text())
    del config["channels"]["terminal"]
    config["channels"]["companion"] = {"approvers": approvers}
    if fallback is not None:
        config["tools"]["exec"]["askFallback"] = fallback
    path.write_text(json.dumps(config))
    file = home / "exec-approvals.json"
    limits = json.loads(file.read_text())
    limits["defaults"] = {"askFallback": fallback} if fallback else {}
    file.write_text(json.dumps(limits))


@contextmanager
def gateway_at(home: Path) -> Iterator[GatewayProcess]:
    """Run a gateway over a home that is already configured."""
    gateway = GatewayProcess(home)
    gateway.start()
    try:
        yield gateway
    finally:
        gateway.stop()


def asking(gateway: GatewayProcess, *words: str) -> "subprocess.Popen[str]":
    """Start `sayso run` in a kernel session of its own without waiting for it."""
    return start(
        [sys.executable, "-m", "bot", "run", *words],
        cwd=ROOT,
        env=gateway.environ(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


async def ended(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    """Wait for a command to end; return its exit code and output."""
    out, error = await asyncio.to_thread(process.communicate, timeout=30)
    return process.returncode, out, error


@asynccontextmanager
async def companion_at(
    home: Path, size: tuple[int, int] = (100, 30)
) -> AsyncIterator[tuple[CompanionScreen, Pilot[None]]]:
    """Run the companion of a home, with a person at its keyboard."""
    file = ApprovalsFile(home / "exec-approvals.json")
    found = file.prepare_socket()
    dialogs = DialogQueue()
    async with works(home, file) as work:
        server = await serve(Path(found.socket_path or ""), found.socket_token or "", dialogs, work)
        screen = CompanionScreen(dialogs, str(found.socket_path))
        try:
            async with screen.run_test(size=size) as pilot:
                yield screen, pilot
        finally:
            await server.close()


async def calm(screen: CompanionScreen, pilot: Pilot[None], count: int = 1) -> None:
    """Wait until this many questions are on the screen and keys are accepted."""
    await until(lambda: len(screen.dialogs.waiting) == count)
    await pilot.pause(CALM_S + 0.2)


def shown(screen: CompanionScreen) -> str:
    """Return the text on the screen."""
    return "\n".join(str(one.render()) for one in screen.query("Static").results() if one.display)

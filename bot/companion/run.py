"""Run a companion: listen, draw, notify, until the person quits."""

import asyncio
from pathlib import Path

from bot.companion.desk import WaitingDesk
from bot.companion.notification import Notifications
from bot.companion.screen import CompanionScreen
from core.approvals.file.file import ApprovalsFile
from core.companion.server import serve


def run(home: Path) -> None:
    """Show questions in this terminal until the person quits.

    Raises:
        ApprovalsFileError: exec-approvals.json cannot be used.
        StateError: the socket cannot be made, or another companion owns it.
    """
    file = ApprovalsFile(home / "exec-approvals.json")
    found = file.prepare_socket()
    path = Path(found.socket_path).expanduser() if found.socket_path else file.socket_path
    asyncio.run(_run(path, found.socket_token or ""))


async def _run(path: Path, token: str) -> None:
    notifications = Notifications()
    desk = WaitingDesk(arrived=notifications.arrived)
    server = await serve(path, token, desk)
    try:
        await CompanionScreen(desk, str(path)).run_async()
    finally:
        await server.close()

"""Run a companion: listen, draw, notify, until the person quits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bot.companion.dialog_queue import DialogQueue
from bot.companion.notification import Notifications
from bot.companion.screen import CompanionScreen
from bot.companion.work import CompanionWork, companion_work
from bot.intake.callers import unix_peer
from core.approvals.file.file import ApprovalsFile
from core.companion.server import serve


def run(home: Path, note: str = "") -> None:
    """Show questions in this terminal, and ``note`` while there is none, until the person quits.

    Raises:
        ApprovalsFileError: exec-approvals.json cannot be used.
        StateError: the socket cannot be created, or another companion owns it.
    """
    file = ApprovalsFile(home / "exec-approvals.json")
    found = file.prepare_socket()
    path = Path(found.socket_path).expanduser() if found.socket_path else file.socket_path
    asyncio.run(_run(home, file, path, found.socket_token or "", note))


async def _run(home: Path, file: ApprovalsFile, path: Path, token: str, note: str) -> None:
    notifications = Notifications()
    dialogs = DialogQueue(arrived=notifications.arrived)
    async with works(home, file) as work:
        server = await serve(path, token, dialogs, work)
        try:
            await CompanionScreen(dialogs, str(path), note).run_async()
        finally:
            await server.close()


@asynccontextmanager
async def works(home: Path, file: ApprovalsFile) -> AsyncIterator[CompanionWork | None]:
    """Create what runs commands here, if exec-approvals.json says that they run here.

    Raises:
        SaysoError: it cannot be created; the message says why.
    """
    if not file.read().socket_executes:
        yield None
        return
    async with companion_work(home, file, unix_peer.is_run) as made:
        yield made

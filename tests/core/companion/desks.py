"""Serve real companions whose person is a test."""

import json
import os
import tempfile
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from core.companion.limits import RateLimit
from core.companion.server import CompanionServer, Dialog, DialogDisplay
from core.model.approval import ApprovalReply

VECTORS = Path(__file__).parents[2] / "vectors" / "exec_approvals_socket.json"
TOKEN = "token-of-this-test"


@dataclass(slots=True)
class RecordingDesk:
    """Keep what is shown; ``press`` answers at once if it is set."""

    press: ApprovalReply | None = None
    shown: list[Dialog] = field(default_factory=list)
    replies: list[tuple[str, bool]] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)

    def show(self, dialog: Dialog) -> None:
        """Keep a dialog."""
        self.shown.append(dialog)
        if self.press is not None:
            dialog.answer(self.press)

    def replied(self, question_id: str, words: str, *, accepted: bool) -> None:
        """Keep the result of an answer."""
        self.replies.append((words, accepted))

    def closed(self, question_id: str, words: str) -> None:
        """Keep how a dialog was closed."""
        self.ended.append(words)


def question(**changes: Any) -> dict[str, Any]:
    """Return the question of the page's vectors, changed."""
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(vectors["requests"]["ask"]["requestJson"])
    return found | changes


def run_order() -> dict[str, Any]:
    """Return the order of the page's vectors."""
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    found: dict[str, Any] = json.loads(vectors["requests"]["run"]["requestJson"])
    return found


def name(number: int) -> str:
    """Return an id of an approval."""
    return f"{number:026d}"


@asynccontextmanager
async def companion(
    dialogs: DialogDisplay | None = None,
    *,
    ttl_ms: int = 10_000,
    rate: RateLimit | None = None,
    make: Callable[..., CompanionServer] = CompanionServer,
) -> AsyncIterator[CompanionServer]:
    """Run a companion on its own socket, in a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o700)  # noqa: PTH101 - one call
        path = Path(folder) / "exec-approvals.sock"
        server = make(
            path, TOKEN, dialogs or RecordingDesk(), ttl_ms=ttl_ms, rate=rate or RateLimit()
        )
        await server.start()
        try:
            yield server
        finally:
            await server.close()

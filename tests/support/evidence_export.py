"""Ask on three platforms with evidence on record, export it as the command does, and verify it."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from bot.evidence.export import VERIFIER, Written, export
from bot.evidence.journal_slice import ExportScope
from core.approvals.answer import Answer
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from core.store.engine.read_only import open_and_read
from core.store.outbox import showings
from core.store.views.evidence import recorded
from tests.channels.slack import workspace as slack
from tests.support.three_platforms import ThreePlatforms, wish


def records(path: Path) -> list[dict[str, Any]]:
    """Return the lines of an export."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def verified(file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the verifier next to an export, with the standard library alone."""
    alone = [sys.executable, "-I", "-S", str(file.with_name(VERIFIER)), str(file), *options]
    return subprocess.run(alone, capture_output=True, text=True, cwd="/", check=False)


def written(at: ThreePlatforms, to: Path, wanted: ExportScope | None = None) -> Written:
    """Export next to a running gateway, as the command does."""
    settings = at.running.settings

    def read(ids: tuple[str, ...]) -> Any:
        return open_and_read(settings.store_url, recorded, ids)

    return export(settings.audit_path, read, wanted or ExportScope(), to)


async def asked(at: ThreePlatforms, folder: Path) -> ApprovalId:
    """Ask in every place; return once each copy is on record."""
    found = await at.running.gate.submit(wish(folder))
    async with asyncio.timeout(60):
        while len(await at.running.store.read(showings.of_approval, found.run_id)) < 3:
            await asyncio.sleep(0.01)
    return found.run_id


async def answered(at: ThreePlatforms, folder: Path, reply: ApprovalReply) -> ApprovalId:
    """Ask in every place, and answer with Slack's copy, as a press there does."""
    run, gate = await asked(at, folder), at.running.gate
    shown = await gate.store.read(showings.of_approval, run)
    (copy,) = [one for one in shown if one.channel == "slack"]
    ana = Actor("slack", slack.ANA, "Ana")
    await gate.answer(Answer(run, reply, ana, place=copy.place, message=copy.message))
    await gate.wait(run)
    return run

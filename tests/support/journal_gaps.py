"""Store one of everything that is recorded, and read what a journal has of a run."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

from core.model.identity import ApprovalId
from core.store import Store, approvals
from core.store.runs import runs
from tests.support.store_records import ALICE, ONCE, draft, finished, run_draft


def kinds(path: Path, run_id: str) -> list[str]:
    """Return the kinds of a run's records, in order."""
    lines = map(json.loads, path.read_text().splitlines())
    return [line["kind"] for line in lines if line.get("run") == run_id]


async def everything(store: Store, owner: str) -> tuple[list[ApprovalId], ApprovalId]:
    """Ask, vote, answer, withdraw, let expire, and run: return the questions, and the run."""
    voted, allowed, withdrawn = replace(draft(), quorum=2), draft(), draft()
    late, run = draft(timeout_ms=1), run_draft(owner=owner)
    for question in (voted, allowed, withdrawn, late):
        await store.write(approvals.create, question)
    for question in (voted, allowed):
        await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    await store.write(approvals.cancel, withdrawn.id, "no longer wanted")
    await asyncio.sleep(0.01)
    await store.write(approvals.expire_due)
    await store.write(runs.begin, run)
    await store.write(runs.finish, run.id, finished(run.id), owner)
    return [voted.id, allowed.id, withdrawn.id, late.id], run.id

"""Record what a gateway that was killed had stored, and not yet written to the journal.

What people ask and answer, and how runs end, is committed to the store first: a gateway killed
right after that leaves no record of it. It is recorded before anything starts that depends on it.
"""

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path

from core.audit.latest import last_at_ms, latest
from core.gate import journal_records, record
from core.model.identity import ApprovalId
from core.model.result import Denied, Finished
from core.ports import Journal
from core.runner.process_liveness import Fate, fate
from core.store import Store, approvals
from core.store.engine import replicas
from core.store.runs import runs
from core.store.views.lately import lately

_log = logging.getLogger(__name__)
_MARGIN_MS = 10_000
"""How long before its last record a gateway may have stored what it never recorded."""
_OUTAGE_MS = 600_000
"""How long after it; what is later another gateway may have stored, which has ended since."""
_LOOK_BACK_MS = 26 * 3_600_000
"""How far the store's clock may be from that of the journal."""


async def close_gaps(store: Store, journal: Journal, path: Path, owner: str) -> int:
    """Append the records that are missing at the journal's end; return how many.

    While another gateway lives, nothing is appended: what it stores is in its own journal.

    Raises:
        StoreError: the store cannot be read.
        JournalError: the journal cannot be read or written.
    """
    ended_ms = await asyncio.to_thread(last_at_ms, path)
    others = await store.read(replicas.others, owner)
    if ended_ms is None or any(fate(one.process) is not Fate.DEAD for one in others):
        return 0
    found = await store.read(lately, ended_ms - _MARGIN_MS, ended_ms + _OUTAGE_MS)

    async def without(ids: Collection[ApprovalId], *kinds: str) -> list[ApprovalId]:
        known = await asyncio.to_thread(latest, path, ids, ended_ms - _LOOK_BACK_MS, kinds)
        return sorted(set(ids) - known.keys())

    asked = await without(found.asked, "ask")
    decided = await without(found.decided, "resolve")
    ended = await without(found.ended, "finish", "refuse")
    for run_id in asked:
        await _ask(store, journal, run_id)
    for run_id in decided:
        await _resolve(store, journal, run_id)
    for run_id in ended:
        await _end(store, journal, run_id)
    missing = len(asked) + len(decided) + len(ended)
    if missing:
        _log.warning("the journal lacked %s records of a gateway that was killed", missing)
    return missing


async def _ask(store: Store, journal: Journal, run_id: ApprovalId) -> None:
    one = await store.read(approvals.get, run_id)
    if one is not None:
        asked = journal_records.decided(one.id, one.requester, one.plan, one.evaluation)
        await journal.append("ask", asked)


async def _resolve(store: Store, journal: Journal, run_id: ApprovalId) -> None:
    one = await store.read(approvals.get, run_id)
    if one is not None:
        await journal.append("resolve", await record.end_of(store, one))


async def _end(store: Store, journal: Journal, run_id: ApprovalId) -> None:
    match await store.read(runs.outcome, run_id):
        case Finished() as finished:
            await journal.append("finish", journal_records.finished(finished))
        case Denied(reason=reason, why=why):
            await journal.append("refuse", {"run": run_id, "reason": reason, "why": why})
        case _:
            await journal.append("finish", journal_records.unseen(run_id))

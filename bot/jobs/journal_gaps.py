"""Record what a gateway that was killed had stored, and not yet written to the journal.

What people ask and answer, and how runs end, is committed to the store first: a gateway killed
right after that leaves no record of it. It is recorded before anything starts that depends on it.
"""

import asyncio
import logging
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from core.audit.latest import begins_ms, last_at_ms, latest, unended, votes
from core.errors import StateError
from core.files.private import create_private, read_private, replace_private
from core.gate.journal import ends, journal_records
from core.gate.journal.deferred import Entry
from core.model.identity import Actor, ApprovalId
from core.model.result import Denied, Finished
from core.ports import Journal
from core.store import Store, approvals
from core.store.engine.clock import now_ms, wall_ms
from core.store.runs import outcomes, recovery
from core.store.views.lately import Span, lately, never_begun
from core.trust.ids import new_id

_log = logging.getLogger(__name__)
_ID = re.compile(rb"[0-9a-f]{32}")
_MARGIN_MS = 600_000
"""How long before its last record a gateway may have stored what it never recorded.

Records wait while the journal or the store is away, and others may be written before them.
"""
_NEAR_MS = 10_000
"""The same, where an older version stored it and did not say for which journal."""
_CLAIM_MS = 60_000
"""The longest between the record that policy allows a run, and its row in the store."""
_OUTAGE_MS = 600_000
"""How long after its last record an older version may have done so.

What is later another gateway may have stored and recorded.
"""
_LOOK_BACK_MS = 26 * 3_600_000
"""How far the store's clock may be from that of the journal."""


def journal_id(path: Path, *, begins: bool = False) -> str:
    """Return the id of the journal at a path, from ``FILE.id``; it is made where there is none.

    A journal that ``begins`` has a new one: what was stored for the one that was here before is in
    that one.

    Raises:
        StateError: the file is unsafe, holds something else, or cannot be made.
    """
    file = path.with_name(f"{path.name}.id")
    made = f"{new_id()}\n".encode()
    if begins:
        replace_private(file, made)
    try:
        text = read_private(file)
    except FileNotFoundError:
        create_private(file, made)
        text = read_private(file)
    if _ID.fullmatch(text.strip()) is None:
        raise StateError(
            f"{file} is not the id of a journal. Restore it from a backup; or remove it, and what "
            "the gateway stored right before it ended last may be missing from the journal."
        )
    return text.strip().decode()


async def close_gaps(store: Store, journal: Journal, path: Path, own_id: str) -> int:
    """Append the records that are missing at the journal's end; return how many.

    ``own_id`` is the journal's id: what other gateways stored belongs in theirs, whether they live
    or not. What is older than the segments that are here is in those that were moved away.

    Raises:
        StoreError: the store cannot be read.
        JournalError: the journal cannot be read or written.
    """
    begins = await asyncio.to_thread(begins_ms, path)
    ended_ms = await asyncio.to_thread(last_at_ms, path) or begins
    if ended_ms is None:
        return 0
    span = await _span(store, begins or 0, ended_ms)
    waiting = {  # it may start here
        run_id: created_ms
        for run_id, created_ms in (await store.read(recovery.unclaimed)).items()
        if begins is None or created_ms >= span.since_ms
    }
    found = await store.read(lately, own_id, span, waiting)
    records = _Records(path, min([ended_ms - _LOOK_BACK_MS, *waiting.values()]))
    lost = await asyncio.to_thread(unended, path, ended_ms - _CLAIM_MS)
    ended = await records.lack(found.ended, "finish", "refuse")
    over = (*ended, *await store.read(never_begun, lost))
    missing = [
        *[await _ask(store, run_id) for run_id in await records.lack(found.asked, "ask")],
        *[await _vote(store, *one) for one in await records.lack_votes(found.voted)],
        *[await _resolve(store, run_id) for run_id in await records.lack(found.decided, "resolve")],
        *[await _end(store, run_id) for run_id in over],
    ]
    entries = [entry for entry in missing if entry is not None]
    for kind, record in entries:
        await journal.append(kind, {**record, "late": True})
    if entries:
        _log.warning("the journal lacked %s records of a gateway that was killed", len(entries))
    return len(entries)


@dataclass(frozen=True, slots=True)
class _Records:
    """What the journal has since a time (epoch ms)."""

    path: Path
    since_ms: int

    async def lack(self, ids: Collection[ApprovalId], *kinds: str) -> list[ApprovalId]:
        """Return the runs without a record of these kinds."""
        found = await asyncio.to_thread(latest, self.path, ids, self.since_ms, kinds)
        return sorted(set(ids) - found.keys())

    async def lack_votes(
        self, voted: Collection[tuple[ApprovalId, str]]
    ) -> list[tuple[ApprovalId, str]]:
        """Return the votes without a record."""
        known = await asyncio.to_thread(votes, self.path, self.since_ms) if voted else frozenset()
        return sorted(set(voted) - known)


async def _span(store: Store, begins_ms: int, ended_ms: int) -> Span:
    """Return from when to when something may have been stored, by the store's clock.

    It may differ from that of the journal, which is set: a store's is not.
    """
    ahead = await store.read(now_ms) - wall_ms()
    ahead = max(-_LOOK_BACK_MS, min(ahead, _LOOK_BACK_MS))
    first, last = ended_ms + min(ahead, 0), ended_ms + max(ahead, 0)
    since = max(first - _MARGIN_MS, begins_ms + min(ahead, 0))
    return Span(since, first - _NEAR_MS, last + _OUTAGE_MS)


async def _ask(store: Store, run_id: ApprovalId) -> Entry | None:
    one = await store.read(approvals.get, run_id)
    if one is None:
        return None
    return "ask", journal_records.decided(one.id, one.requester, one.plan, one.evaluation)


async def _vote(store: Store, run_id: ApprovalId, who: str) -> Entry | None:
    """Return the record of a vote, ``None`` if it decided: then that is the record."""
    one = await store.read(approvals.get, run_id)
    if one is None or (one.resolution is not None and _ref(one.resolution.by) == who):
        return None
    vote = next((vote for vote in one.votes if vote.by.ref == who), None)
    return None if vote is None else ends.voted(one, vote)


def _ref(actor: Actor | None) -> str:
    return "" if actor is None else actor.ref


async def _resolve(store: Store, run_id: ApprovalId) -> Entry | None:
    one = await store.read(approvals.get, run_id)
    return None if one is None else ("resolve", await ends.end_of(store, one))


async def _end(store: Store, run_id: ApprovalId) -> Entry:
    match await store.read(outcomes.outcome, run_id):
        case Finished() as finished:
            return "finish", journal_records.finished(finished)
        case Denied(reason=reason, why=why):
            return "refuse", {"run": run_id, "reason": reason, "why": why}
        case _:
            return "finish", journal_records.unseen(run_id)

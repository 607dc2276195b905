"""Record what a gateway that was killed had stored, and not yet written to the journal.

What people ask and answer, and how runs end, is committed to the store first: a gateway killed
right after that leaves no record of it. It is recorded before anything starts that depends on it.
"""

import asyncio
import logging
from collections.abc import Collection
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from pathlib import Path

from core.audit.latest import last_at_ms, latest, unended, votes
from core.gate.journal import ends, journal_records
from core.gate.journal.deferred import Entry
from core.model.identity import Actor, ApprovalId
from core.model.result import Denied, Finished
from core.ports import Journal
from core.runner.process_liveness import Fate, fate
from core.store import Store, approvals
from core.store.engine import replicas
from core.store.engine.clock import now_ms, wall_ms
from core.store.runs import runs
from core.store.views.lately import lately, never_begun

_log = logging.getLogger(__name__)
_MARGIN_MS = 10_000
"""How long before its last record a gateway may have stored what it never recorded."""
_CLAIM_MS = 60_000
"""The longest between the record that policy allows a run, and its row in the store."""
_OUTAGE_MS = 600_000
"""How long after it, and longer if the gateway left no word that it had recorded everything.

What is later another gateway may have stored, which has ended since.
"""
_LOOK_BACK_MS = 26 * 3_600_000
"""How far the store's clock may be from that of the journal."""


async def close_gaps(store: Store, journal: Journal, path: Path, owner: str) -> int:
    """Append the records that are missing at the journal's end; return how many.

    While another gateway lives, only what this journal has the beginning of, until it ends: the
    rest may be in the other's.

    Raises:
        StoreError: the store cannot be read.
        JournalError: the journal cannot be read or written.
    """
    ended_ms = await asyncio.to_thread(last_at_ms, path)
    if ended_ms is None:
        return 0
    others = await store.read(replicas.live_others, owner)
    shared = any(fate(one.process) is not Fate.DEAD for one in others)
    since, until = await _span(store, ended_ms, shared=shared)
    lived = await store.read(replicas.alive_until, owner) or until
    found = await store.read(lately, since, max(until, lived))
    waiting = {} if shared else await store.read(runs.unclaimed)  # all of that starts here
    records = _Records(path, min([ended_ms - _LOOK_BACK_MS, *waiting.values()]), shared)
    asked = await records.lack(found.asked | waiting.keys(), ("ask",), ())
    decided = await records.lack(found.decided | waiting.keys(), ("resolve",), ("ask",))
    ended = await records.lack(found.ended, ("finish", "refuse"), ("decision", "start"))
    lost = await asyncio.to_thread(unended, path, ended_ms - _CLAIM_MS)
    over = (*ended, *await store.read(never_begun, lost))
    missing = [
        *[await _ask(store, run_id) for run_id in asked],
        *[await _vote(store, *one) for one in await records.lack_votes(found.voted)],
        *[await _resolve(store, run_id) for run_id in decided],
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
    """What the journal has since a time (epoch ms); ``shared``: so may that of another gateway."""

    path: Path
    since_ms: int
    shared: bool

    async def lack(
        self, ids: Collection[ApprovalId], ends: Collection[str], begins: Collection[str]
    ) -> list[ApprovalId]:
        """Return the runs without a record of these kinds; if shared, of those with a beginning."""
        lacking = set(ids) - await self._with(ids, ends)
        return sorted(lacking & await self._with(lacking, begins) if self.shared else lacking)

    async def lack_votes(
        self, voted: Collection[tuple[ApprovalId, str]]
    ) -> list[tuple[ApprovalId, str]]:
        """Return the votes without a record; if shared, on questions that were asked here."""
        known = await asyncio.to_thread(votes, self.path, self.since_ms) if voted else frozenset()
        lacking = {one for one in voted if one not in known}
        if self.shared:
            asked = await self._with({run_id for run_id, _ in lacking}, ("ask",))
            lacking = {one for one in lacking if one[0] in asked}
        return sorted(lacking)

    async def _with(self, ids: Collection[ApprovalId], kinds: Collection[str]) -> AbstractSet[str]:
        return (await asyncio.to_thread(latest, self.path, ids, self.since_ms, kinds)).keys()


async def _span(store: Store, ended_ms: int, *, shared: bool) -> tuple[int, int]:
    """Return from when to when something may have been stored, by the store's clock.

    It may differ from that of the journal, which is set: a store's is not.
    """
    ahead = await store.read(now_ms) - wall_ms()
    ahead = max(-_LOOK_BACK_MS, min(ahead, _LOOK_BACK_MS))
    after = _MARGIN_MS if shared else _OUTAGE_MS
    return ended_ms - _MARGIN_MS + min(ahead, 0), ended_ms + after + max(ahead, 0)


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
    match await store.read(runs.outcome, run_id):
        case Finished() as finished:
            return "finish", journal_records.finished(finished)
        case Denied(reason=reason, why=why):
            return "refuse", {"run": run_id, "reason": reason, "why": why}
        case _:
            return "finish", journal_records.unseen(run_id)

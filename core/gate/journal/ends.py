"""Record how questions ended, each with what was shown and what proved the answer.

Nothing that an answer allows starts before that is recorded.
"""

import asyncio
import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.errors import StoreError
from core.gate.journal import journal_records
from core.gate.journal.deferred import Deferred, Entry
from core.gate.journal.lasting_journal import LastingJournal
from core.model.approval import Approval, ApprovalReply, ApprovalState, Vote
from core.model.decision import DenialReason
from core.model.evidence import Showing
from core.model.identity import COMPANION_CHANNEL, Actor, ApprovalId
from core.store import Store, approvals
from core.store.approvals import proofs
from core.store.outbox import showings
from core.text.render import redact

_log = logging.getLogger(__name__)
_EXPIRY_BATCH = 500


@dataclass(slots=True)
class Recording:
    """The answers that are being taken: what one allows starts only after it is recorded.

    The commit of an answer wakes what starts runs, while the answer is still being recorded.
    """

    _open: set[asyncio.Future[None]] = field(default_factory=set)

    @contextmanager
    def answer(self) -> Iterator[None]:
        """Count an answer, from before it can be committed until it is recorded."""
        ended = asyncio.get_running_loop().create_future()
        self._open.add(ended)
        try:
            yield
        finally:
            self._open.discard(ended)
            ended.set_result(None)

    async def settled(self) -> None:
        """Wait for the answers that are being taken now, not for those that come meanwhile."""
        if self._open:
            await asyncio.wait(tuple(self._open))


def asked(approval: Approval) -> list[Entry]:
    """Return the record of a question that was just made, and of its end if it has one already."""
    who, plan, evaluation = approval.requester, approval.plan, approval.evaluation
    entries: list[Entry] = [("ask", journal_records.decided(approval.id, who, plan, evaluation))]
    if approval.resolution is not None:  # nobody could be asked
        entries.append(("resolve", journal_records.resolved(approval)))
    return entries


async def answered(
    store: Store, journal: LastingJournal, made: approvals.StoredAnswer, actor: Actor
) -> None:
    """Write to the journal what an answer did: it ended a question, or it is a vote.

    A message that was answered before did nothing, and is recorded already.

    Raises:
        StoreError, JournalError: as ``end``.
    """
    vote = vote_of(made.approval, actor)
    if made.ended_it:
        await end(store, journal, made.approval)
    elif made.is_vote and vote is not None:
        await journal.append_all([voted(made.approval, vote)])


def vote_of(approval: Approval, actor: Actor) -> Vote | None:
    """Return the vote that somebody has cast."""
    return next((one for one in approval.votes if one.by == actor), None)


def voted(approval: Approval, vote: Vote) -> Entry:
    """Return the record of one of several allows that an approval needs."""
    return "vote", journal_records.voted(approval, vote)


async def end(store: Store, journal: LastingJournal, approval: Approval) -> None:
    """Write an end to the journal, and the identical questions that ended with it.

    Raises:
        StoreError: which ones did cannot be read; all of it is written later.
        JournalError: some of it is written later.
    """
    try:
        entries = await ends_of(store, approval)
    except StoreError:
        journal.deferred.complete(lambda: _end_later(store, journal.deferred, approval))
        raise
    await journal.append_all(entries)


async def _end_later(store: Store, deferred: Deferred, approval: Approval) -> None:
    for kind, entry in await ends_of(store, approval):
        await deferred.append(kind, entry)


async def ends_of(store: Store, approval: Approval) -> list[Entry]:
    """Return the record of an end, and those of the identical questions that ended with it."""
    ended = await end_of(store, approval)
    entries: list[Entry] = [("resolve", ended)]
    if approval.resolution is None or approval.resolution.reply is ApprovalReply.ALLOW_ONCE:
        return entries
    others = await store.read(approvals.ended_with, approval.id)
    alike = ({**ended, "run": other, "with": approval.id} for other in others)
    return [*entries, *(("resolve", one) for one in alike)]


async def end_of(store: Store, approval: Approval) -> dict[str, object]:
    """Return the record of an end."""
    shown, proven = await _shown(store, approval.id), await _proven(store, approval)
    return journal_records.resolved(approval, shown, proven)


async def _shown(store: Store, approval_id: ApprovalId) -> tuple[Showing, ...] | None:
    """Return what was shown of a question; ``None``: a failing store stops no record."""
    try:
        return await store.read(showings.of_approval, approval_id)
    except StoreError as failure:
        _log.error("what was shown of %s cannot be read: %s", approval_id, failure)
        return None


async def _proven(store: Store, approval: Approval) -> str | None:
    """Return the sum of what a step-up was proven with, as ``_shown``."""
    if not approval.step_up:
        return ""
    try:
        return proofs.sum_of(await store.read(proofs.of_approval, approval.id))
    except StoreError as failure:
        _log.error("what proved the answer to %s cannot be read: %s", approval.id, failure)
        return None


async def expire(store: Store, journal: LastingJournal, batch: int = _EXPIRY_BATCH) -> int:
    """End everything that nobody answered in time, in batches; return how many.

    Ending comes first and the journal after: ten thousand deadlines at one instant must not wait
    for each other's records.
    """
    reasons: dict[ApprovalId, DenialReason] = {}
    try:
        while True:
            ended = await store.write(approvals.expire_and_notify, batch)
            reasons |= ended.reasons
            if len(ended.reasons) < batch:
                return len(reasons)
    finally:  # those of a batch that failed are not among them
        await journal.append_all(expired(reasons))


def expired(reasons: Mapping[ApprovalId, DenialReason]) -> list[Entry]:
    """Return the records of questions that nobody answered in time, and why nothing ran."""
    for_good = {"state": ApprovalState.EXPIRED.value}
    return [("resolve", {"run": one, **for_good, "denial": why}) for one, why in reasons.items()]


async def companion_lost(
    store: Store, journal: LastingJournal, run_id: ApprovalId, why: str
) -> None:
    """Record that a companion went away while it asked; deny what nobody else could answer."""
    asked = await store.read(approvals.get, run_id)
    if asked is None or asked.resolution is not None:
        return
    where: dict[str, object] = {"run": run_id, "where": COMPANION_CHANNEL, "why": redact(why).text}
    await journal.append("unreachable", where)
    words = f"the companion that asked is gone ({why}), and nobody else was asked"
    ended = await store.write(approvals.settle_lost, run_id, COMPANION_CHANNEL, words)
    if ended is not None:
        await end(store, journal, ended)

"""Record what became of requests: refused, answered, over, or allowed for good."""

import asyncio
import logging
import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from core.approvals.answer import Answer
from core.approvals.broker import Broker
from core.approvals.ids import new_id
from core.errors import BadRequest, StateError, StoreError
from core.gate import journal_records
from core.gate.deferred import Deferred, Entry
from core.gate.effective_policy import Rulebook
from core.gate.lasting_journal import LastingJournal
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.evidence import Showing
from core.model.identity import COMPANION_CHANNEL, Actor, ApprovalId
from core.model.pending_limits import Crowded
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Denied
from core.planning.planner import Refusal
from core.ports import Journal
from core.store import Store, approvals
from core.store.approvals import proofs
from core.store.outbox import showings
from core.store.runs.refusals import RefusedRequest, record_refused
from core.text.render import redact

_log = logging.getLogger(__name__)
_EXPIRY_BATCH = 500
_LOOKS = 3
"""How often a question that is not there is looked for again: together, more than a second."""


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


async def end(store: Store, journal: LastingJournal, approval: Approval) -> None:
    """Write an end to the journal, and the identical questions that ended with it.

    Raises:
        StoreError: which ones did cannot be read; nothing is written.
        JournalError: some of it is written later.
    """
    await journal.append_all(await _ends(store, approval))


async def _ends(store: Store, approval: Approval) -> list[Entry]:
    ended = await end_of(store, approval)
    entries: list[Entry] = [("resolve", ended)]
    if approval.resolution is None or approval.resolution.reply is ApprovalReply.ALLOW_ONCE:
        return entries
    others = await store.read(approvals.ended_with, approval.id)
    alike = ({**ended, "run": other, "with": approval.id} for other in others)
    return [*entries, *(("resolve", one) for one in alike)]


@dataclass(frozen=True, slots=True)
class Doubts:
    """What may be stored although its commit failed; it is recorded once the store says so."""

    store: Store
    deferred: Deferred

    @contextmanager
    def asking(self) -> Iterator[Callable[[ApprovalId], None]]:
        """Take the ids that a question gets, and record it later if its commit is in doubt."""
        drawn: list[ApprovalId] = []
        try:
            yield drawn.append
        except StoreError:
            for run_id in drawn:
                self.deferred.complete(partial(self._asked, run_id, iter(range(_LOOKS))))
            raise

    @contextmanager
    def answering(self, answer: Answer) -> Iterator[Callable[[ApprovalId], None]]:
        """Take what an answer decides, and record it later if its commit is in doubt."""
        decided: list[ApprovalId] = []
        try:
            yield decided.append
        except StoreError:
            for run_id in set(decided):
                self.deferred.complete(partial(self._answered, run_id, answer))
            raise

    def ended(self, run_id: ApprovalId, state: ApprovalState) -> None:
        """Record the end of a question, if it ended in this state."""
        self.deferred.complete(lambda: self._ended(run_id, lambda one: _state(one) is state))

    async def _asked(self, run_id: ApprovalId, again: Iterator[int]) -> None:
        one = await self.store.read(approvals.get, run_id)
        if one is None:
            if next(again, None) is not None:
                raise StoreError("Its COMMIT may still be under way.")
            return
        ends = await _ends(self.store, one) if _is_unrouted(one) else []
        asked = journal_records.decided(one.id, one.requester, one.plan, one.evaluation)
        for kind, entry in (("ask", asked), *ends):
            await self.deferred.append(kind, entry)

    async def _answered(self, run_id: ApprovalId, answer: Answer) -> None:
        one = await self._ended(run_id, lambda one: _by(one) == answer.actor)
        if one is not None and answer.actor in {vote.by for vote in one.votes}:
            await self.deferred.append("vote", journal_records.voted(one, answer))

    async def _ended(
        self, run_id: ApprovalId, is_ours: Callable[[Approval], bool]
    ) -> Approval | None:
        """Record an end if it is the one in doubt; return what is still open."""
        one = await self.store.write(approvals.settled, run_id)
        if one is not None and is_ours(one):
            for kind, entry in await _ends(self.store, one):
                await self.deferred.append(kind, entry)
        return one if one is not None and one.resolution is None else None


def _by(approval: Approval) -> Actor | None:
    return None if approval.resolution is None else approval.resolution.by


def _state(approval: Approval) -> ApprovalState | None:
    return None if approval.resolution is None else approval.resolution.state


def _is_unrouted(approval: Approval) -> bool:
    """Return whether the ask fallback ended a question at the moment it was made."""
    end = approval.resolution
    return end is not None and end.by is None and end.at_ms == approval.created_ms


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


async def expire(store: Store, journal: LastingJournal) -> int:
    """End everything that nobody answered in time; return how many.

    Ending comes first and the journal after: ten thousand deadlines at one instant must not wait
    for each other's records.
    """
    expired: dict[ApprovalId, DenialReason] = {}
    try:
        while True:
            ended = await store.write(approvals.expire_and_notify, _EXPIRY_BATCH)
            expired |= ended
            if len(ended) < _EXPIRY_BATCH:
                return len(expired)
    finally:  # those of a batch that failed are not among them
        for_good = {"state": ApprovalState.EXPIRED.value}
        await journal.append_all(
            ("resolve", {"run": run_id, **for_good, "denial": why})
            for run_id, why in expired.items()
        )


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


async def refuse(
    store: Store,
    journal: Journal,
    request: ExecRequest,
    refused: Refusal | Crowded,
    policy: ExecPolicy | None = None,
) -> Denied:
    """Write a refusal to the journal, notify the session, and return it.

    Without a ``policy`` the place is reported as the call named it.

    Raises:
        SaysoError: it could not be recorded; nothing runs either way.
    """
    run_id, refusal = new_id(), _refusal(refused)
    record = journal_records.refused(run_id, request, refusal.reason, refusal.why)
    await journal.append("refuse", record)
    overrides = request.overrides
    node, host = (overrides.node, overrides.host) if policy is None else (policy.node, policy.host)
    place = node or host or ExecHost.GATEWAY
    row = RefusedRequest(
        id=run_id,
        agent=request.agent,
        session=request.session,
        place=place,
        text=request.line if request.line is not None else shlex.join(request.argv or ()),
        reason=refusal.reason,
        why=refusal.why,
    )
    await store.write(record_refused, row)
    return Denied(run_id, refusal.reason, refusal.why)


def _refusal(refused: Refusal | Crowded) -> Refusal:
    if isinstance(refused, Crowded):
        return Refusal(DenialReason.TOO_MANY_PENDING, refused.sentence)
    return refused


@dataclass(frozen=True, slots=True)
class AlwaysWriter:
    """Write what people allowed for good into the approvals file, once."""

    store: Store
    rulebook: Rulebook
    journal: Journal
    broker: Broker

    async def store_promise(self, run_id: ApprovalId) -> None:
        """Store what an unlimited allow-always promised; a limited one is a grant already."""
        approval = await self.store.read(approvals.get, run_id)
        if approval is None or approval.resolution is None:
            return
        end = approval.resolution
        if end.reply is not ApprovalReply.ALLOW_ALWAYS or end.terms is not None:
            return
        try:
            for one in approval.evaluation.promise:
                await self.rulebook.remember(approval.plan.agent, one)
        except (StateError, BadRequest) as failure:
            # The person allowed this run, so it runs; say that it will be asked about again.
            words = f"{approval.code} runs, but allow-always could not be stored: {failure}"
            await self.journal.append("remember", {"run": run_id, "why": redact(words).text})
            await self.broker.notify(approval, words)
        await self.store.write(approvals.mark_remembered, run_id)

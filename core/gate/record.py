"""Record what became of requests: refused, answered, over, or allowed for good."""

import asyncio
import logging
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.approvals.broker import Broker
from core.approvals.ids import new_id
from core.errors import BadRequest, JournalError, StateError, StoreError
from core.gate import journal_records
from core.gate.deferred import Deferred
from core.gate.effective_policy import Rulebook
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.evidence import Showing
from core.model.identity import COMPANION_CHANNEL, ApprovalId
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


@dataclass(frozen=True, slots=True)
class LastingJournal:
    """The journal, for what is stored already: a record that it refuses is written later.

    Who waits for it gets the error all the same.
    """

    journal: Journal
    deferred: Deferred

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record, now or when the journal works again.

        Raises:
            JournalError: it does not work now.
        """
        try:
            await self.journal.append(kind, record)
        except JournalError as failure:
            self.deferred.append_later(kind, record, failure)
            raise


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


async def end(store: Store, journal: Journal, approval: Approval) -> None:
    """Write an end to the journal, and the identical questions that ended with it."""
    ended = await end_of(store, approval)
    await journal.append("resolve", ended)
    if approval.resolution is None or approval.resolution.reply is ApprovalReply.ALLOW_ONCE:
        return
    for follower in await store.read(approvals.ended_with, approval.id):
        await journal.append("resolve", {**ended, "run": follower, "with": approval.id})


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


async def expire(store: Store, journal: Journal) -> int:
    """End everything that nobody answered in time; return how many.

    Ending comes first and the journal after: ten thousand deadlines at one instant must not wait
    for each other's records.
    """
    expired: dict[ApprovalId, DenialReason] = {}
    while True:
        ended = await store.write(approvals.expire_and_notify, _EXPIRY_BATCH)
        expired |= ended
        if len(ended) < _EXPIRY_BATCH:
            break
    for_good = {"state": ApprovalState.EXPIRED.value}
    await asyncio.gather(
        *(
            journal.append("resolve", {"run": run_id, **for_good, "denial": why})
            for run_id, why in expired.items()
        )
    )
    return len(expired)


async def companion_lost(store: Store, journal: Journal, run_id: ApprovalId, why: str) -> None:
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

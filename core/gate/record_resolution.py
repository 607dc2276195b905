"""Write down how questions ended: answered, withdrawn, or over."""

import asyncio

from core.gate import journal_records
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.ports import Journal
from core.store import Store, approvals

_EXPIRY_BATCH = 500


async def write(store: Store, journal: Journal, approval: Approval) -> None:
    """Write an end to the journal, and the identical questions that ended with it."""
    end = journal_records.resolved(approval)
    await journal.append("resolve", end)
    if approval.resolution is None or approval.resolution.reply is ApprovalReply.ALLOW_ONCE:
        return
    for follower in await store.read(approvals.ended_with, approval.id):
        await journal.append("resolve", {**end, "run": follower, "with": approval.id})


async def expire(store: Store, journal: Journal) -> int:
    """End all that nobody answered in time; return how many.

    Ending comes first and the journal after: ten thousand deadlines of one instant must not wait
    for each other's records.
    """
    expired: dict[ApprovalId, DenialReason] = {}
    while True:
        ended = await store.write(approvals.expire_and_tell, _EXPIRY_BATCH)
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

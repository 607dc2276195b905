"""Require the claim of a run before it starts (``core.ports.RunStart``), or raise why not."""

import asyncio

from core.errors import CancelledFirst, SpawnError
from core.model.identity import ApprovalId
from core.ports import RunStart


async def require_claim(
    run_id: ApprovalId, start: RunStart, unwanted: asyncio.Event | None = None
) -> None:
    """Claim a run durably; once this returns, it starts here and nowhere else.

    ``unwanted`` is set when the run is cancelled, which may happen while it is claimed.

    Raises:
        SpawnError: another caller has the claim, so nothing runs here.
        CancelledFirst: it was cancelled, so nothing runs.
    """
    if not await start.claim():
        raise SpawnError(f"run {run_id} could not be claimed, so nothing ran")
    if unwanted is not None and unwanted.is_set():
        raise cancelled(run_id)


def cancelled(run_id: ApprovalId) -> CancelledFirst:
    """Return the error for a run that was cancelled while it waited for its turn or its claim."""
    return CancelledFirst(f"run {run_id} was cancelled before it started")

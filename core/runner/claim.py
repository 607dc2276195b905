"""Claim a run before it starts, or report why nothing of it ran."""

import asyncio

from core.errors import CancelledFirst, SpawnError
from core.model.identity import ApprovalId
from core.ports import RunWatcher


async def claim(
    run_id: ApprovalId, watcher: RunWatcher, unwanted: asyncio.Event | None = None
) -> None:
    """Claim a run durably; once this returns, it starts here and nowhere else.

    ``unwanted`` is set when the run is cancelled, which may happen while it is claimed.

    Raises:
        SpawnError: another caller has the claim, so nothing runs here.
        CancelledFirst: it was cancelled, so nothing runs.
    """
    if not await watcher.claim():
        raise SpawnError(f"run {run_id} could not be claimed, so nothing ran")
    if unwanted is not None and unwanted.is_set():
        raise cancelled(run_id)


def cancelled(run_id: ApprovalId) -> CancelledFirst:
    """Return the error for a run that was cancelled while it waited for its turn or its claim."""
    return CancelledFirst(f"run {run_id} was cancelled before it started")

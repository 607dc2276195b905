"""Clear up behind a gateway that died: tell what was interrupted, end what it left running."""

import asyncio
import logging

from core.ports import Journal
from core.runner.orphans import end_orphan
from core.store import Store, runs
from core.store.drafts import OrphanedRun

_log = logging.getLogger(__name__)


async def recover(store: Store, journal: Journal, owner: str) -> int:
    """Mark the runs of dead gateways ``unknown``, once, and never run them again; return how many.

    Their supervisors ended the processes when the gateway's end of their socket closed; what
    escaped even that is ended here, found by the identity that was stored.
    """
    interrupted = await store.write(runs.recover, owner)
    for run in interrupted:
        _log.warning("run %s was interrupted; how it ended is unknown", run.id)
        await journal.append("finish", {"run": run.id, "exit_code": None, "state": "unknown"})
        await _end(run)
    return len(interrupted)


async def _end(run: OrphanedRun) -> None:
    ended = await asyncio.to_thread(
        end_orphan, run.id, run.pid, run.pgid, run.start_ticks, run.boot_id
    )
    if ended:
        _log.warning("ended what run %s had left behind", run.id)

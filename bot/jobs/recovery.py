"""Clean up after a gateway that died: report what was interrupted, end what it left running.

A missed heartbeat proves nothing: a gateway may be cut off, stopped for a while, or late. So its
runs are at most marked ``unknown``, which their true result replaces, and a process is ended only
if the kernel proves that the gateway that started it is dead.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bot.gate_proof.test_prompt import is_test
from core.audit.latest import Record, latest
from core.errors import CommitInDoubt, SaysoError, StoreError
from core.gate.execution import IN_DOUBT
from core.gate.gate import Gate
from core.gate.journal.journal_records import result_of, unseen
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.ports import Journal
from core.runner.orphans import end_orphan
from core.runner.process_liveness import Fate, fate
from core.store import Store
from core.store.approvals.queries import asked_here, pending
from core.store.engine import replicas
from core.store.engine.clock import Milliseconds, steady_ms
from core.store.runs import recovery, runs
from core.store.runs.recovery import InterruptedRun
from core.store.schema.records import OrphanedRun

_log = logging.getLogger(__name__)
AfterDeath = Callable[[Sequence[OrphanedRun]], Awaitable[None]]
"""Called with the runs of gateways that died."""
Recovering = Callable[[], Awaitable[tuple[OrphanedRun, ...]]]
_PAUSE_S = 1.0
_MOST_PROMPTS = 100
WITHDRAWN = "it was a test prompt; the command that sent it is gone"
_LOOK_BACK_MS = 2 * 86_400_000
"""How old an ``unknown`` run may be for its end to be searched for in the journal."""


async def settle(store: Store, journal: Path, owner: str) -> int:
    """Take over endings from the journal that neither store nor files have; return how many.

    Call it before ``recover``, once results kept in files are delivered: the journal has the exit
    code, not the output. And before anything is started: a store restored from a backup may offer
    what has run since.

    Raises:
        StoreError: the store cannot be used.
        JournalError: the journal cannot be read.
    """
    since = round(time.time() * 1000) - _LOOK_BACK_MS
    left = {run.id: run for run in await store.read(recovery.interrupted, owner, since)}
    queued = await store.read(recovery.unclaimed)
    if not left and not queued:
        return 0
    first = min([*(run.started_ms for run in left.values()), *queued.values()])
    found = await asyncio.to_thread(latest, journal, left.keys() | queued.keys(), first)
    stops = await asyncio.to_thread(latest, journal, queued, first, ("stop",)) if queued else {}
    settled = 0
    for run_id, run in left.items():
        settled += await _take(store, run, found.get(run_id, {}))
    for run_id in queued:
        record = found.get(run_id, {})
        if record.get("kind") != "finish" and run_id in stops:
            settled += await _withdraw(store, run_id, str(stops[run_id].get("note", "")))
        else:
            settled += await _take_again(store, run_id, owner, record)
    return settled


async def _withdraw(store: Store, run_id: ApprovalId, note: str) -> bool:
    """End a queued run that somebody cancelled; its gateway was killed before the store had it."""
    return await store.write(runs.withdraw, run_id, f"it was cancelled before it started: {note}")


async def _take(store: Store, run: InterruptedRun, record: Record) -> bool:
    """Store the end of a run if this record, its last one, contains it."""
    match record.get("kind"):
        case "finish" if "state" not in record:
            result = result_of(record)
            return await store.write(runs.finish, run.id, result, run.owner)
        case "refuse":
            reason, why = DenialReason(str(record["reason"])), str(record["why"])
            return await store.write(runs.refuse, run.id, reason, why, run.owner)
        case _:
            return False


async def _take_again(store: Store, run_id: ApprovalId, owner: str, record: Record) -> bool:
    """Store the end of a run that is queued although it has one, because the store is older."""
    if record.get("kind") == "refuse" and record.get("why") != IN_DOUBT:
        reason, why = DenialReason(str(record["reason"])), str(record["why"])
        return await store.write(runs.refuse, run_id, reason, why, owner)
    if record.get("kind") != "finish":
        return False
    _log.warning("run %s is not started: by the journal, it has run already", run_id)
    if not await store.write(runs.start, run_id, owner):
        return False
    if "state" in record:  # how it ended is unknown; a gateway that is gone has run it
        return False
    return await store.write(runs.finish, run_id, result_of(record), owner)


class Heart:
    """Sends this gateway's heartbeat, and looks for gateways whose heartbeat stopped.

    ``after`` ends what only other users can: what those gateways ran as them. It may take longer
    than a gateway without a heartbeat counts as alive, so no heartbeat waits for it.
    """

    def __init__(
        self,
        store: Store,
        journal: Journal,
        owner: str,
        after: AfterDeath | None = None,
        steady: Milliseconds = steady_ms,
    ) -> None:
        self._store, self._journal, self._owner = store, journal, owner
        self._after, self._steady = after, steady
        self._beat_ms = self._since_ms = steady()
        self._clearing: set[asyncio.Task[None]] = set()

    async def stop(self) -> None:
        """Stop cleaning up; the next gateway finds the rest."""
        for task in self._clearing:
            task.cancel()
        await asyncio.gather(*self._clearing, return_exceptions=True)

    async def beat(self) -> None:
        """Record that this gateway is alive, and clean up after those that died.

        A gateway that was itself cut off gives the others the time of a lease: perhaps all were.
        """
        await self._store.write(replicas.heartbeat, self._owner, replicas.LEASE_MS)
        now = self._steady()
        if now - self._beat_ms >= replicas.LEASE_MS:
            self._since_ms = now
        self._beat_ms = now
        lapsed = now - self._since_ms >= replicas.LEASE_MS
        found = await recover(self._store, self._journal, self._owner, lapsed=lapsed)
        if self._after is not None and found.all:
            task = asyncio.create_task(self._clear_up(self._after, found.dead))
            self._clearing.add(task)
            task.add_done_callback(self._clearing.discard)

    async def _clear_up(self, after: AfterDeath, dead: Sequence[OrphanedRun]) -> None:
        try:
            await after(dead)
        except SaysoError as failure:
            _log.error("what dead gateways ran as other users may still be running: %s", failure)


@dataclass(frozen=True, slots=True)
class Recovered:
    """The runs that are now ``unknown``: of dead gateways, and of those that may be cut off."""

    dead: tuple[OrphanedRun, ...]
    lost: tuple[OrphanedRun, ...]

    @property
    def all(self) -> tuple[OrphanedRun, ...]:
        """Return all of them."""
        return (*self.dead, *self.lost)


async def recover(store: Store, journal: Journal, owner: str, *, lapsed: bool) -> Recovered:
    """Mark the runs of dead gateways ``unknown``, once, and never run them again; return them.

    Their supervisors ended the processes when the gateway's end of their socket closed; what
    escaped even that is ended here, found by the identity that was stored. ``lapsed``: a gateway
    about which nothing is proven also counts as dead if its heartbeat has ended.
    """
    fates = {one.id: fate(one.process) for one in await store.read(replicas.others, owner)}
    dead = [name for name, its in fates.items() if its is Fate.DEAD]
    spared = [name for name, its in fates.items() if its is Fate.LIVES]
    left = (
        await _known(store, lambda: store.write(recovery.recover_of, owner, dead)) if dead else ()
    )
    lost = await _known(store, lambda: store.write(recovery.recover, owner, spared, lapsed=lapsed))
    found = Recovered(left, lost)
    for run in found.all:
        _log.warning("run %s was interrupted; how it ended is unknown", run.id)
    # They are returned only once, so what they left is ended whatever becomes of the records.
    for run in found.dead:
        await _end(run)
    for run in found.all:
        await journal.append("finish", unseen(run.id))
    return found


async def _known(store: Store, recovering: Recovering) -> tuple[OrphanedRun, ...]:
    """Return the runs that are now ``unknown``, although their COMMIT may have been in doubt.

    It waits for the database then: nothing returns these runs again.
    """
    try:
        return await recovering()
    except CommitInDoubt as doubt:
        made: tuple[OrphanedRun, ...] = doubt.made if isinstance(doubt.made, tuple) else ()
    while True:
        try:
            ended = await store.write(recovery.recovered, [run.id for run in made])
            return tuple(run for run in made if run.id in ended)
        except StoreError:  # its outage is logged where it begins
            await asyncio.sleep(_PAUSE_S)


async def _end(run: OrphanedRun) -> None:
    ended = await asyncio.to_thread(
        end_orphan, run.id, run.pid, run.pgid, run.start_ticks, run.boot_id
    )
    if ended:
        _log.warning("ended processes left by run %s", run.id)


async def withdraw_test_prompts(gate: Gate) -> None:
    """Withdraw the test prompts that an earlier start of this gateway sent for a command.

    The command ended with it, so nobody waits for the answer. Call it before anything is asked.
    """
    store = gate.store
    waiting = await store.read(pending, _MOST_PROMPTS)
    tests = [one.id for one in waiting if is_test(one.plan.session)]
    for run_id in await store.read(asked_here, tests):
        if await gate.cancel(run_id, WITHDRAWN):
            _log.info("withdrew the test prompt %s, which a killed command left", run_id)

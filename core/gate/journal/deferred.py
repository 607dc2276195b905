"""Deliver to the store and the journal what they could not take at once: how runs ended.

A command has ended whether or not the database is available to record it. Until the store has a
result, memory and a file in the gateway's home hold it, and callers get it from here; a gateway
that starts delivers what an earlier one left before it calls any run unknown.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.errors import JournalError, SaysoError, StoreAway, StoreError
from core.files.private import read_private, replace_private
from core.model.decision import DenialReason
from core.model.identity import AgentId, ApprovalId
from core.model.result import Finished
from core.ports import Journal
from core.store import Store
from core.store.runs import outcomes, runs
from core.store.schema.json_columns import dump, load

_log = logging.getLogger(__name__)
_SOON_S = 0.1
"""How long the store may take before a result is written to a file as well."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
_LAST_S = 5.0
"""How long a gateway that stops tries to deliver what is in memory only."""
_SUFFIX = ".json"

_Note = Callable[[], Awaitable[object]]
Entry = tuple[str, dict[str, object]]
"""The kind of a record, and the record."""


@dataclass(frozen=True, slots=True)
class KeptResult:
    """How a run ended, which boot of a gateway ran it, and for which agent."""

    owner: str
    result: Finished
    agent: AgentId | None = None


@dataclass(slots=True)
class Deferred:
    """Hold results until the store has them. ``folder``: where files go; ``None``: memory only."""

    store: Store
    journal: Journal
    folder: Path | None = None
    _kept: dict[ApprovalId, KeptResult] = field(default_factory=dict)
    _unsaved: set[ApprovalId] = field(default_factory=set)
    _in_doubt: set[ApprovalId] = field(default_factory=set)
    _writes: deque[_Note] = field(default_factory=deque)
    _records: deque[_Note] = field(default_factory=deque)
    _delivery: asyncio.Task[None] | None = None
    _hurry: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def result(self, run_id: ApprovalId) -> Finished | None:
        """Return the result of a run that the store does not have yet."""
        kept = self._kept.get(run_id)
        return None if kept is None else kept.result

    def agent(self, run_id: ApprovalId) -> AgentId | None:
        """Return the agent of a run whose result the store does not have yet."""
        kept = self._kept.get(run_id)
        return None if kept is None else kept.agent

    def is_in_doubt(self, run_id: ApprovalId) -> bool:
        """Return whether a run that started nothing is still to be ended; it must not start."""
        return run_id in self._in_doubt

    async def finish(
        self, run_id: ApprovalId, result: Finished, owner: str, agent: AgentId | None = None
    ) -> None:
        """Record how a run ended; returns once it is on disk, in the store or in a file."""
        writing = asyncio.ensure_future(self.store.write(runs.finish, run_id, result, owner))
        await asyncio.wait({writing}, timeout=_SOON_S)
        if writing.done() and writing.exception() is None:
            return
        self._kept[run_id] = KeptResult(owner, result, agent)
        self._unsaved.add(run_id)
        await asyncio.to_thread(self._save, run_id, self._kept[run_id])
        writing.add_done_callback(_seen)
        self._deliver_soon()

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record about what has happened to the journal, now or when it can be written."""
        try:
            await self.journal.append(kind, record)
        except JournalError as failure:
            self.append_later([(kind, record)], failure)

    def append_later(self, entries: Sequence[Entry], failure: JournalError) -> None:
        """Append records to the journal, in this order, when it can be written again."""
        kinds = ", ".join(kind for kind, _ in entries)
        _log.error("records wait for the journal (%s): %s", kinds, failure)
        waiting = deque(entries)

        async def append() -> None:
            while waiting:
                await self.journal.append(*waiting[0])
                waiting.popleft()

        self.complete(append)

    def complete(self, note: _Note) -> None:
        """Call what records something that may be stored, until it could look.

        Like a record that waits, it keeps what people allowed from starting.
        """
        self._records.append(note)
        self._deliver_soon()

    def require_records(self) -> None:
        """Refuse a start before all that happened until now is in the journal.

        Raises:
            JournalError: some of it is not.
        """
        if self.lacks_records:
            raise JournalError("Earlier records are waiting for the journal. Nothing starts.")

    @property
    def lacks_records(self) -> bool:
        """Return whether some of what happened is not in the journal."""
        return bool(self._records)

    async def write(self, note: _Note) -> bool:
        """Store what has happened, now or when the store can be written.

        ``False`` if the store has it otherwise.
        """
        try:
            return await note() is not False
        except StoreError as failure:
            _log.error("results are waiting for the store: %s", failure)
            self._write_later(note)
            return True

    async def end(self, run_id: ApprovalId, note: _Note) -> bool:
        """End a run of which nothing was started, now or when the store can be written.

        ``False`` if it is no run of ours.
        """
        self._in_doubt.add(run_id)
        return await self.write(lambda: self._settle(run_id, note))

    def abandon(self, run_id: ApprovalId, owner: str, why: str) -> None:
        """End a run whose claim is in doubt, if it turns out to have been claimed by ``owner``."""
        reason = DenialReason.SPAWN_FAILED
        self._in_doubt.add(run_id)
        self._write_later(
            lambda: self._settle(
                run_id, lambda: self.store.write(runs.abandon, run_id, reason, why, owner)
            )
        )

    async def _settle(self, run_id: ApprovalId, note: _Note) -> object:
        done = await note()
        self._in_doubt.discard(run_id)
        return done

    async def close(self) -> None:
        """Deliver what only memory has; what is in files is delivered by the next start.

        This takes at most ``_LAST_S`` seconds: the disk may have just begun to work again.
        """
        self._closed = True
        self._hurry.set()
        if self._delivery is None:
            return
        await asyncio.wait({self._delivery}, timeout=_LAST_S)
        self._delivery.cancel()
        await asyncio.gather(self._delivery, return_exceptions=True)
        if self._only_here():
            _log.error(
                "The gateway stops before the store or the journal can be written: %d results, %d "
                "notes and %d records are lost.",
                *map(len, (self._unsaved, self._writes, self._records)),
            )

    def _write_later(self, note: _Note) -> None:
        self._writes.append(note)
        self._deliver_soon()

    def _deliver_soon(self) -> None:
        if self._delivery is None or self._delivery.done():
            self._delivery = asyncio.create_task(self._deliver(), name="sayso-deferred")

    def _only_here(self) -> bool:
        """Return whether anything would be lost with this process."""
        return bool(self._unsaved or self._writes or self._records)

    def _is_wanted(self) -> bool:
        """Return whether there is something to deliver; at a stop only what no file has."""
        return self._only_here() or (bool(self._kept) and not self._closed)

    async def _deliver(self) -> None:
        pause, failed = 0.0, False
        while self._is_wanted():
            await self._rest(pause)
            through = await asyncio.gather(
                self._deliver_results(), _emptied(self._writes), _emptied(self._records)
            )
            pause = min(max(_FIRST_PAUSE_S, pause * 2), _LONGEST_PAUSE_S)
            failed |= not all(through)
            if all(through):
                pause = 0.0
        if failed and not self._kept:
            _log.info("the store and the journal have all results again")

    async def _rest(self, seconds: float) -> None:
        """Wait before the next attempt, only briefly where the gateway stops."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._hurry.wait()
                await asyncio.sleep(_FIRST_PAUSE_S)

    async def _deliver_results(self) -> bool:
        through = True
        for run_id, kept in tuple(self._kept.items()):
            try:
                await self.store.write(runs.finish, run_id, kept.result, kept.owner)
            except StoreError as failure:
                await asyncio.to_thread(self._save_all)
                through = False
                if isinstance(failure, StoreAway):
                    return False
                # This note may be the cause: the others must not wait for it.
                continue
            del self._kept[run_id]
            await asyncio.to_thread(self._forget, run_id)
        return through

    def _save_all(self) -> None:
        for run_id in tuple(self._unsaved):
            kept = self._kept.get(run_id)
            if kept is not None:
                self._save(run_id, kept, again=True)

    def _save(self, run_id: ApprovalId, kept: KeptResult, *, again: bool = False) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            text = dump(outcomes.storable(kept.result))
            replace_private(self._file(run_id), f"{kept.owner}\n{text}".encode())
        except (OSError, SaysoError) as failure:
            if not again:
                _log.error("the result of run %s is kept in memory only: %s", run_id, failure)
            return
        self._unsaved.discard(run_id)
        if run_id not in self._kept:  # the store has taken it in the meantime
            self._forget(run_id)

    def _forget(self, run_id: ApprovalId) -> None:
        self._unsaved.discard(run_id)
        if self.folder is not None:
            with suppress(OSError):  # the next start delivers it once more, which changes nothing
                self._file(run_id).unlink(missing_ok=True)

    def _file(self, run_id: ApprovalId) -> Path:
        assert self.folder is not None  # noqa: S101 - the callers look
        return self.folder / f"{run_id}{_SUFFIX}"


async def _emptied(notes: deque[_Note]) -> bool:
    """Write notes; ``False`` if one has to wait."""
    while notes:
        try:
            await notes[0]()
        except (StoreError, JournalError):
            notes.rotate(-1)  # this note may be the cause: the others must not wait for it
            return False
        except SaysoError as failure:
            _log.error("cannot write a note; giving up: %s", failure)
        except Exception:  # noqa: BLE001 - one note's fault must not hold up the others for ever
            _log.exception("cannot write a note; giving up")
        notes.popleft()
    return True


async def deliver_left_behind(store: Store, folder: Path) -> int:
    """Store the results that an earlier gateway could not; return how many.

    Raises:
        StoreError: the store cannot be used; the files stay.
    """
    delivered = 0
    for path, kept in await asyncio.to_thread(lambda: tuple(_left_behind(folder))):
        await store.write(runs.finish, kept.result.run_id, kept.result, kept.owner)
        path.unlink(missing_ok=True)
        delivered += 1
    return delivered


def _left_behind(folder: Path) -> Iterator[tuple[Path, KeptResult]]:
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        try:
            owner, _, text = read_private(path).decode().partition("\n")
            yield path, KeptResult(owner, load(Finished, text))
        except (SaysoError, ValueError) as failure:
            _log.error("%s contains no readable result: %s", path, failure)


def _seen(task: asyncio.Future[bool]) -> None:
    """Retrieve the exception of a write that is repeated, so that asyncio does not report it."""
    with suppress(asyncio.CancelledError):
        failure = task.exception()
        if failure is not None and not isinstance(failure, StoreError):
            _log.error("cannot store a result: %s", failure)

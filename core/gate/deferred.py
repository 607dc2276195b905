"""Bring into store and journal what they could not take at once: how runs ended.

A command has ended whether or not the database is there to hear of it. Until the store has a
result, memory and a file in the gateway's home hold it; callers get it from here meanwhile, and a
gateway that starts delivers what an earlier one left before it calls any run unknown.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from core.approvals.private_file import read_private, replace_private
from core.errors import JournalError, SaysoError, StoreError
from core.model.decision import DenialReason
from core.model.identity import AgentId, ApprovalId
from core.model.result import Finished
from core.ports import Journal
from core.store import Store, runs
from core.store.codec import dump, load

_log = logging.getLogger(__name__)
_SOON_S = 0.1
"""How long the store may take before a result is written to a file as well."""
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
_SUFFIX = ".json"

_Note = Callable[[], Awaitable[object]]


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

    def result(self, run_id: ApprovalId) -> Finished | None:
        """Return how a run ended that the store does not know of yet."""
        kept = self._kept.get(run_id)
        return None if kept is None else kept.result

    def agent(self, run_id: ApprovalId) -> AgentId | None:
        """Return the agent of a run whose result the store does not have yet."""
        kept = self._kept.get(run_id)
        return None if kept is None else kept.agent

    def is_in_doubt(self, run_id: ApprovalId) -> bool:
        """Say whether a run is still to be ended that nothing was started of; it must not start."""
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
        await asyncio.to_thread(self._save, run_id)
        writing.add_done_callback(_seen)
        self._deliver_soon()

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record about what has happened to the journal, now or when it can be written."""
        try:
            await self.journal.append(kind, record)
        except JournalError as failure:
            _log.error("a %s record waits for the journal: %s", kind, failure)
            self._records.append(lambda: self.journal.append(kind, record))
            self._deliver_soon()

    async def write(self, note: _Note) -> None:
        """Store what has happened, now or when the store can be written."""
        try:
            await note()
        except StoreError as failure:
            _log.error("what has happened waits for the store: %s", failure)
            self._write_later(note)

    async def end(self, run_id: ApprovalId, note: _Note) -> None:
        """End a run of which nothing was started, now or when the store can be written."""
        self._in_doubt.add(run_id)
        await self.write(lambda: self._settle(run_id, note))

    def abandon(self, run_id: ApprovalId, owner: str, why: str) -> None:
        """End a run whose claim is in doubt, if it turns out to have been claimed by ``owner``."""
        reason = DenialReason.SPAWN_FAILED
        self._in_doubt.add(run_id)
        self._write_later(
            lambda: self._settle(
                run_id, lambda: self.store.write(runs.abandon, run_id, reason, why, owner)
            )
        )

    async def _settle(self, run_id: ApprovalId, note: _Note) -> None:
        await note()
        self._in_doubt.discard(run_id)

    async def close(self) -> None:
        """Stop delivering; what is in files is delivered by the next start."""
        if self._delivery is not None:
            self._delivery.cancel()
            await asyncio.gather(self._delivery, return_exceptions=True)

    def _write_later(self, note: _Note) -> None:
        self._writes.append(note)
        self._deliver_soon()

    def _deliver_soon(self) -> None:
        if self._delivery is None or self._delivery.done():
            self._delivery = asyncio.create_task(self._deliver(), name="sayso-deferred")

    async def _deliver(self) -> None:
        pause = 0.0
        while self._kept or self._writes or self._records:
            await asyncio.sleep(pause)
            through = await asyncio.gather(
                self._deliver_results(), _emptied(self._writes), _emptied(self._records)
            )
            pause = min(max(_FIRST_PAUSE_S, pause * 2), _LONGEST_PAUSE_S)
            if all(through):
                pause = 0.0
                _log.info("the store and the journal have every result again")

    async def _deliver_results(self) -> bool:
        for run_id, kept in tuple(self._kept.items()):
            try:
                await self.store.write(runs.finish, run_id, kept.result, kept.owner)
            except StoreError:
                await asyncio.to_thread(self._save_all)
                return False
            await asyncio.to_thread(self._forget, run_id)
            del self._kept[run_id]
        return True

    def _save_all(self) -> None:
        for run_id in tuple(self._unsaved):
            self._save(run_id, again=True)

    def _save(self, run_id: ApprovalId, *, again: bool = False) -> None:
        if self.folder is None:
            return
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            text = dump(runs.kept_form(self._kept[run_id].result))
            owner = self._kept[run_id].owner
            replace_private(str(self._file(run_id)), f"{owner}\n{text}".encode())
        except (OSError, SaysoError) as failure:
            if not again:
                _log.error("the result of run %s is kept in memory only: %s", run_id, failure)
        else:
            self._unsaved.discard(run_id)

    def _forget(self, run_id: ApprovalId) -> None:
        self._unsaved.discard(run_id)
        if self.folder is not None:
            with suppress(OSError):  # the next start delivers it once more, which changes nothing
                self._file(run_id).unlink(missing_ok=True)

    def _file(self, run_id: ApprovalId) -> Path:
        assert self.folder is not None  # noqa: S101  # the callers look
        return self.folder / f"{run_id}{_SUFFIX}"


async def _emptied(notes: deque[_Note]) -> bool:
    """Write notes in their order; ``False`` if one has to wait."""
    while notes:
        try:
            await notes[0]()
        except (StoreError, JournalError):
            return False
        except SaysoError as failure:
            _log.error("a note cannot be written, so it is given up: %s", failure)
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
            owner, _, text = read_private(str(path))[0].decode().partition("\n")
            yield path, KeptResult(owner, load(Finished, text))
        except (SaysoError, ValueError) as failure:
            _log.error("%s holds no result that can be read: %s", path, failure)


def _seen(task: asyncio.Future[bool]) -> None:
    """Take the exception of a write that is repeated, so that asyncio does not report it."""
    with suppress(asyncio.CancelledError):
        failure = task.exception()
        if failure is not None and not isinstance(failure, StoreError):
            _log.error("a result could not be stored: %s", failure)

"""Write the exec log (S4 ``audit_log_path``): JSONL, hash-chained, on disk before any answer.

After a crash, each request that has no final entry gets exactly one, ``unknown``, when the log is
opened again; what its run left behind is ended. Only what was written since the last settled point
is read again: ``FILE.settled`` records where that was.
"""

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from core.audit.journal import AuditJournal
from core.errors import JournalError, StateError
from core.files.private import read_private, replace_private
from core.remote.host.active_runs import Session
from core.runner.orphans import end_orphan
from core.runner.supervisor.processes import procfs

_log = logging.getLogger(__name__)


class ExecEvent(StrEnum):
    """What an entry says happened. ``spawned`` names the process, for recovery."""

    REQUESTED = "requested"
    DENIED = "denied"
    STARTED = "started"
    SPAWNED = "spawned"
    CANCELLED = "cancelled"
    LEASE_EXPIRED = "lease_expired"
    HOST_STOPPING = "host_stopping"
    FINISHED = "finished"
    UNKNOWN = "unknown"


FINAL = frozenset((ExecEvent.DENIED, ExecEvent.FINISHED, ExecEvent.UNKNOWN))

Mask = Callable[[tuple[str, ...]], list[str]]
"""Returns a vector as it may be written, with secrets hidden."""


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A run whose end was not recorded, and what is known about its process."""

    run_id: str
    agent_id: str
    pid: int | None = None
    pgid: int | None = None
    start_ticks: int | None = None
    boot_id: str | None = None


class ExecLog:
    """The log of one host; ``mask`` hides secrets in what it writes."""

    def __init__(self, journal: AuditJournal, path: Path, mask: Mask) -> None:
        self._journal = journal
        self._path = path
        self._mask = mask
        self._unended: set[str] = set()

    async def note(self, event: ExecEvent, run_id: str, **record: object) -> None:
        """Write one entry; it is on disk when this returns.

        Raises:
            JournalError: it is not, so nothing may run for it.
        """
        began = event is ExecEvent.REQUESTED
        if began:
            self._unended.add(run_id)
        try:
            await self._journal.append(event, {"run": run_id, **record})
        except JournalError:
            if began:
                self._unended.discard(run_id)
            raise
        if event in FINAL:
            self._unended.discard(run_id)

    async def spawned(self, session: Session, pid: int, pgid: int, start_ticks: int) -> None:
        """Record the process that leads a run."""
        await self.note(
            ExecEvent.SPAWNED,
            session.run_id,
            pid=pid,
            pgid=pgid,
            startTicks=start_ticks,
            bootId=procfs.boot_id(),
        )

    def masked(self, argv: tuple[str, ...]) -> list[str]:
        """Return a vector as the log shows it."""
        return self._mask(argv)

    async def recover(self) -> int:
        """Give each unfinished request its one final entry, and end what it left; return how many.

        Raises:
            JournalError: the log cannot be read or written.
        """
        interrupted = await asyncio.to_thread(self._unfinished)
        for one in interrupted:
            _log.warning("remote run %s was interrupted; how it ended is unknown", one.run_id)
            await asyncio.to_thread(
                end_orphan, one.run_id, one.pid, one.pgid, one.start_ticks, one.boot_id
            )
            await self.note(ExecEvent.UNKNOWN, one.run_id, agent=one.agent_id)
        self.settle()
        return len(interrupted)

    def settle(self) -> None:
        """Record that everything up to here has its final entry, if that is the case."""
        if self._unended:
            return  # the next start re-checks it
        with contextlib.suppress(StateError):  # only the next start takes longer
            replace_private(self._settled, f"{self._journal.head.end}\n".encode())

    def close(self) -> None:
        """Release the file."""
        self._journal.close()

    @property
    def _settled(self) -> Path:
        return self._path.with_name(self._path.name + ".settled")

    def _unfinished(self) -> list[Interrupted]:
        found: dict[str, Interrupted] = {}
        for record in self._records():
            run_id, kind = str(record.get("run")), record.get("kind")
            if kind == ExecEvent.REQUESTED:
                found[run_id] = Interrupted(run_id, str(record.get("agent")))
            elif kind == ExecEvent.SPAWNED and run_id in found:
                found[run_id] = _with_process(found[run_id], record)
            elif kind in FINAL:
                found.pop(run_id, None)
        return list(found.values())

    def _records(self) -> Iterator[dict[str, object]]:
        try:
            with self._path.open("rb") as file:
                file.seek(self._start(os.fstat(file.fileno()).st_size))
                for line in file:
                    yield json.loads(line)
        except (OSError, ValueError) as error:
            raise JournalError(f"{self._path} cannot be read: {error}. Nothing runs.") from error

    def _start(self, size: int) -> int:
        """Return where to begin; at the start if the note does not fit the file."""
        try:
            place = int(read_private(self._settled))
        except (FileNotFoundError, StateError, ValueError):
            return 0
        if not 0 < place <= size:
            return 0
        with self._path.open("rb") as file:
            file.seek(place - 1)
            return place if file.read(1) == b"\n" else 0


def open_exec_log(path: Path, mask: Mask) -> ExecLog:
    """Open the log of a host exclusively; create its folder, mode 0700, if it does not exist.

    Raises:
        JournalError: it is unsafe, held by another process, or was tampered with.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise JournalError(
            f"{path.parent} cannot be made: {error.strerror}. Make it, or set audit_log_path."
        ) from error
    return ExecLog(AuditJournal(path), path, mask)


def _with_process(one: Interrupted, record: dict[str, object]) -> Interrupted:
    def number(key: str) -> int | None:
        value = record.get(key)
        return value if isinstance(value, int) else None

    boot = record.get("bootId")
    return Interrupted(
        one.run_id,
        one.agent_id,
        number("pid"),
        number("pgid"),
        number("startTicks"),
        boot if isinstance(boot, str) else None,
    )

"""Write the audit journal: append-only, hash-chained, durable before ``append`` returns.

One thread writes. Records that arrive while it waits for the disk share the next wait (group
commit): 32 callers pay about what one does.
"""

import asyncio
import logging
import os
import queue
import threading
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from core.audit.chain import Head, fields, head_text, sealed
from core.audit.open import holds, open_journal
from core.audit.rotate import Rotated, begin_next, sync_folder
from core.audit.segments import Start, is_one_file, segment_path
from core.errors import JournalError

_log = logging.getLogger(__name__)
_BATCH = 1024


@dataclass(frozen=True, slots=True)
class _Entry:
    kind: str
    encoded: dict[str, str]
    done: Future[None]


@dataclass(frozen=True, slots=True)
class _Rotation:
    by: str
    done: Future[Rotated]


class AuditJournal:
    """One journal file with its single writer (implements ``core.ports.Journal``).

    Opening locks the file, repairs a torn end and, if there was one, writes a ``recovered`` record.
    A file that has ``rotate_bytes`` or more is ended, and continued in a new segment.

    Raises:
        JournalError: the file is unsafe, held by another process, or was tampered with.
    """

    def __init__(self, path: Path, rotate_bytes: int | None = None) -> None:
        self._path = path
        opened = open_journal(path)
        # Whoever moves the folder moves the journal with it: a changed home is noticed
        # elsewhere.
        self._folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._file, self._note, self._head = opened.file, opened.note, opened.head
        self._start = opened.start
        self._rotate_bytes = self._rotate_at = rotate_bytes
        self._waiting: queue.SimpleQueue[_Entry | _Rotation | None] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._closed = False
        self._broken = ""
        self._writer = threading.Thread(target=self._run, name="sayso-journal", daemon=True)
        self._writer.start()
        if opened.cut is not None:
            self._recovered(opened.cut)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def head(self) -> Head:
        """Return the last durable line: number, end in bytes, hash (note it on another host)."""
        return self._head

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append one record; it is on disk when this returns. Secrets are masked by the caller.

        A caller that is cancelled while it waits may or may not have its record written.

        Raises:
            JournalError: it was not written; nothing may run for it.
        """
        await asyncio.wrap_future(self._submit(kind, record))

    async def rotate(self, by: str) -> Rotated:
        """End the segment after what waits to be written, and begin the next; ``by`` says who.

        Raises:
            JournalError: nothing changed: the segment is empty, or the disk fails.
        """
        rotation = _Rotation(by, Future())
        self._put(rotation)
        return await asyncio.wrap_future(rotation.done)

    def close(self) -> None:
        """Write what waits, then release the file; later appends are refused."""
        with self._gate:
            if self._closed:
                return
            self._closed = True
            self._waiting.put(None)
        self._writer.join()
        os.close(self._note)
        os.close(self._file)
        os.close(self._folder)

    def _recovered(self, cut: dict[str, object]) -> None:
        _log.warning("%s: removed a partial last line: %s", self._path, cut)
        try:
            self._submit("recovered", cut).result()
        except JournalError:
            self.close()
            raise

    def _submit(self, kind: str, record: dict[str, object]) -> Future[None]:
        try:
            entry = _Entry(kind, fields(record), Future())
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f"A {kind!r} record cannot be journalled: {error}.") from error
        self._put(entry)
        return entry.done

    def _put(self, one: _Entry | _Rotation) -> None:
        with self._gate:
            if self._closed:
                raise JournalError(f"{self._path} is closed, so nothing runs any more.")
            self._waiting.put(one)

    def _run(self) -> None:
        """Write batches until the closing mark; in the writer's thread."""
        going = True
        while going:
            batch = [self._waiting.get()]
            while len(batch) < _BATCH:
                try:
                    batch.append(self._waiting.get_nowait())
                except queue.Empty:
                    break
            going = None not in batch
            self._commit([one for one in batch if isinstance(one, _Entry)])
            for one in batch:
                if isinstance(one, _Rotation):
                    self._answer(one)
            self._rotate_by_size()

    def _commit(self, batch: list[_Entry]) -> None:
        batch = [entry for entry in batch if entry.done.set_running_or_notify_cancel()]
        try:
            if batch:
                self._write(batch)
        except Exception as error:  # noqa: BLE001 - whatever happened, nobody may wait for ever
            for entry in batch:
                # One exception each: several tasks that raise the same one mix up its traceback.
                reason = JournalError(str(error))
                reason.__cause__ = error
                entry.done.set_exception(reason)
        else:
            for entry in batch:
                entry.done.set_result(None)

    def _answer(self, rotation: _Rotation) -> None:
        if not rotation.done.set_running_or_notify_cancel():
            return
        try:
            done = self._rotate(rotation.by)
        except Exception as error:  # noqa: BLE001 - as in ``_commit``
            rotation.done.set_exception(error)
        else:
            rotation.done.set_result(done)

    def _rotate_by_size(self) -> None:
        """Rotate a file that has grown too large; a failure is logged, and tried again later."""
        if self._rotate_bytes is None or self._rotate_at is None:
            return
        if self._broken or self._head.end < self._rotate_at:
            return
        try:
            self._rotate("size")
        except JournalError as error:
            self._rotate_at = self._head.end + self._rotate_bytes
            _log.error("cannot rotate the journal, which keeps growing: %s", error)
        else:
            self._rotate_at = self._rotate_bytes

    def _rotate(self, by: str) -> Rotated:
        if self._broken:
            self._heal()
        if self._is_empty():
            raise JournalError(f"{self._path} has no records since the last rotation.")
        number, last = self._start.number, self._head
        ended = Rotated(segment_path(self._path, number), number, last.seq, last.hash)
        try:
            # On disk, so that the note never names a line of an earlier segment than this one.
            os.pwrite(self._note, head_text(last), 0)
            os.fsync(self._note)
            new, head = begin_next(self._path, self._file, number, last, by)
        except OSError as error:
            raise JournalError(
                f"{self._path} cannot be rotated: {error.strerror}. It was not changed."
            ) from error
        os.close(self._file)
        self._file, self._head = new, head
        self._start = Start(number + 1, Head(last.seq, 0, last.hash))
        # Nothing is acknowledged before a power cut cannot bring back the old name.
        self._broken = f"{self._path} was rotated, but its folder failed to reach the disk."
        self._heal()
        self._note_head()
        return ended

    def _is_empty(self) -> bool:
        """Return whether the segment holds nothing but the record that begins it."""
        return self._head.seq - self._start.head.seq <= (self._start.number > 1)

    def _write(self, batch: list[_Entry]) -> None:
        if self._broken:
            self._heal()
            _log.warning("%s is writable again", self._path)
        self._require_its_place()
        head, lines = self._head, []
        for entry in batch:
            line, head = sealed(entry.encoded, entry.kind, head)
            lines.append(line)
        try:
            _write_all(self._file, b"".join(lines))
        except OSError as error:
            self._undo()
            raise self._failure(error) from error
        try:
            os.fdatasync(self._file)
        except OSError as error:
            # After a failed sync the kernel may drop the pages and call the next sync a success, so
            # what follows is worth nothing until these pages are cut off.
            self._broken = f"{self._path} failed to reach the disk. Nothing runs until it does."
            self._undo()
            raise self._failure(error) from error
        self._head = head
        self._note_head()
        for entry in batch:
            _log.debug("journalled %s %s", entry.kind, entry.encoded.get("run", ""))

    def _require_its_place(self) -> None:
        """Refuse to write where nobody would find it again.

        Raises:
            JournalError: the file was removed, replaced or cut off since it was opened.
        """
        if not is_one_file(self._path.name, self._file, self._folder):
            fault = "was moved, removed or replaced"
        elif os.fstat(self._file).st_size != self._head.end:
            fault = "was written to or cut off"
        else:
            return
        raise JournalError(
            f"{self._path} {fault} by another process while the gateway ran. Nothing runs until it "
            f"is as it was: put the file back, or keep what there is as evidence, move it and "
            f"{self._path.name}.head away together, and restart the gateway."
        )

    def _undo(self) -> None:
        try:
            os.ftruncate(self._file, self._head.end)
        except OSError:
            self._broken = f"{self._path} holds half a line. Nothing runs until the disk works."

    def _heal(self) -> None:
        """Continue after a failure once the file on disk holds what was acknowledged, no more.

        The page that the last line ends in is written once more with the line that follows.

        Raises:
            JournalError: the disk still fails, or does not hold the last line.
        """
        try:
            os.ftruncate(self._file, self._head.end)
            os.fsync(self._file)
            sync_folder(self._path.parent)
            if not holds(self._file, self._head):
                raise JournalError(f"{self._path} lost line {self._head.seq}. Keep it as evidence.")
        except OSError as error:
            raise JournalError(self._broken) from error
        self._broken = ""

    def _failure(self, error: OSError) -> JournalError:
        return JournalError(
            f"{self._path} cannot be written: {error.strerror}. Nothing runs until it is writable: "
            "free disk space or replace the disk."
        )

    def _note_head(self) -> None:
        """Note what is durable; a note that lags is caught up with when the journal is opened."""
        try:
            os.pwrite(self._note, head_text(self._head), 0)
        except OSError as error:
            _log.warning("%s.head could not be written: %s", self._path, error.strerror)


def _write_all(file: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]

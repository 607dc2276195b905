"""Run operations on SQLite: one writer thread, group commit, one reader thread, some for long ones.

Each operation is a savepoint, so one that fails does not undo its neighbours; at most 64 share a
commit, and no caller sees a result before the commit is on disk.
"""

import asyncio
import os
import queue
import threading
import uuid
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar

from sqlalchemy import Connection

from core.errors import StoreError
from core.store.engine.clock import HighWater
from core.store.engine.errors import translated
from core.store.engine.protocol import CLOSED, Listener, Listeners
from core.store.engine.sqlite.disk_reserve import DiskReserve
from core.store.engine.sqlite.file import check, hold
from core.store.engine.sqlite.writer import Job, Writer, open_connection

P = ParamSpec("P")
T = TypeVar("T")
GROUP: Final = 64
_LONG_READS: Final = 3
"""How many long readings run at once."""


class SqliteStore:
    """A store in one file, held by one gateway."""

    def __init__(self, path: Path, clock: HighWater, lock: int, journal: str | None) -> None:
        self._path, self._clock, self._lock = path, clock, lock
        self._loop = asyncio.get_running_loop()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._listeners = Listeners()
        self._closed = False
        self._boot = uuid.uuid4().hex
        self._writer = Writer(path, clock, self._boot, DiskReserve(path), journal)
        self._thread = threading.Thread(target=self._serve, name="sayso-store", daemon=True)
        self._readers = ThreadPoolExecutor(1, "sayso-read")
        self._long_readers = ThreadPoolExecutor(_LONG_READS, "sayso-read-long")
        self._reader: Connection | None = None

    async def start(self) -> None:
        """Prepare the schema and begin to serve."""
        await asyncio.to_thread(self._writer.open)
        self._thread.start()

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation in the next group; return after its commit (see ``Store``)."""
        if self._closed:
            raise StoreError(CLOSED)
        future: asyncio.Future[T] = self._loop.create_future()
        self._jobs.put(Job(partial(_call, op, args, kwargs), future))
        return await future

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one reading operation on a snapshot (see ``Store``)."""
        if self._closed:
            raise StoreError(CLOSED)
        call: Callable[[Connection], T] = partial(_call, op, args, kwargs)
        return await self._loop.run_in_executor(self._readers, self._read, call)

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one long reading operation (see ``Store``)."""
        if self._closed:
            raise StoreError(CLOSED)
        call: Callable[[Connection], T] = partial(_call, op, args, kwargs)
        return await self._loop.run_in_executor(self._long_readers, self._read_beside, call)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each wake-up; return what unsubscribes it."""
        return self._listeners.add(listener)

    async def close(self) -> None:
        """Commit what was submitted, keep the clock's mark, release the file."""
        if self._closed:
            return
        self._closed = True
        self._jobs.put(None)
        await asyncio.to_thread(self._stop)
        os.close(self._lock)

    def _stop(self) -> None:
        if self._thread.is_alive():
            self._thread.join()
        self._readers.shutdown()
        self._long_readers.shutdown()
        if self._reader is not None:
            self._reader.close()
            self._reader.engine.dispose()  # the last to close the file writes the WAL back into it
        self._writer.close()

    def _serve(self) -> None:
        while (first := self._jobs.get()) is not None:
            group, last = [first], False
            while len(group) < GROUP and not last:
                try:
                    job = self._jobs.get_nowait()
                except queue.Empty:
                    break
                if job is None:
                    last = True
                else:
                    group.append(job)
            self._commit(group)
            if last:
                return

    def _commit(self, group: list[Job]) -> None:
        try:
            self._writer.commit(group)
        except Exception as error:  # noqa: BLE001 - whatever it is, every waiter must get it
            for job in group:
                job.fail(translated(error, str(self._path)))
        try:
            self._loop.call_soon_threadsafe(self._deliver, group)
        except RuntimeError:
            return  # the loop has ended; nobody waits

    def _deliver(self, group: list[Job]) -> None:
        for job in group:
            job.deliver()
        for words in dict.fromkeys(words for job in group for words in job.notes):
            self._listeners.notify(words)

    def _read(self, call: Callable[[Connection], T]) -> T:
        try:
            if self._reader is None:
                self._reader = open_connection(self._path, self._clock, self._boot, read_only=True)
            with self._reader.begin():
                return call(self._reader)
        except Exception as error:  # the driver's faults become ours, a caller's stays its own
            raise translated(error, str(self._path)) from error

    def _read_beside(self, call: Callable[[Connection], T]) -> T:
        """Read on a connection of its own: short ones have one that is always open."""
        try:
            conn = open_connection(self._path, self._clock, self._boot, read_only=True)
            try:
                with conn.begin():
                    return call(conn)
            finally:
                conn.close()
                conn.engine.dispose()
        except Exception as error:  # as in ``_read``
            raise translated(error, str(self._path)) from error


def _call(
    op: Callable[..., T], args: tuple[object, ...], kwargs: dict[str, object], conn: Connection
) -> T:
    return op(conn, *args, **kwargs)


async def open_sqlite(path: Path, clock: HighWater, journal: str | None) -> SqliteStore:
    """Hold, check and open a SQLite file; ``journal``: see ``open_store``.

    Raises:
        AnotherGateway: a running gateway holds it.
        StoreError: it is damaged, newer than this Sayso, or cannot be used.
    """
    lock = hold(path)
    try:
        check(path)
        store = SqliteStore(path, clock, lock, journal)
        await store.start()
    except BaseException as error:
        os.close(lock)
        if isinstance(error, Exception):
            raise translated(error, str(path)) from error
        raise
    return store

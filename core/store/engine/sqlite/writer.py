"""Commit groups of operations on SQLite's one writing connection."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import StaticPool

from core.errors import StoreError
from core.store.engine.clock import READ_MARK, HighWater, Mark
from core.store.engine.context import Context, attach, context_of
from core.store.engine.errors import is_full, translated
from core.store.engine.notifications import take_notes
from core.store.engine.protocol import CLOSED
from core.store.engine.sqlite.disk_reserve import DiskReserve
from core.store.engine.sqlite.file import connect
from core.store.schema.prepare import prepare

_MARK_AFTER_CHANGE_MS: Final = 1_000
_MARK_WHEN_IDLE_MS: Final = 10_000
_LOOK_FOR_SPACE_S: Final = 1.0
_WRITE_MARK: Final = "UPDATE clock SET high_ms = ?, steady = ?, steady_ms = ? WHERE id = 1"
_IS_ASKED: Final = "SELECT 1 FROM approvals WHERE state = 'pending' LIMIT 1"


@dataclass(slots=True)
class Job:
    """One submitted operation with what became of it."""

    call: Callable[[Connection], Any]  # each job returns its own type
    future: asyncio.Future[Any]
    result: object = None
    error: BaseException | None = None
    notes: tuple[str, ...] = field(default=())

    def attempt(self, conn: Connection) -> None:
        """Run the operation inside the caller's transaction."""
        self.result = self.call(conn)
        self.notes = take_notes(conn)

    def fail(self, error: BaseException) -> None:
        """Record that nothing of it was kept."""
        self.result, self.error, self.notes = None, error, ()

    def deliver(self) -> None:
        """Notify the waiter, in the event loop."""
        if self.future.done():  # the caller gave up waiting; the operation is done
            return
        if self.error is None:
            self.future.set_result(self.result)
        else:
            self.future.set_exception(self.error)


class _GroupLost(Exception):
    """SQLite undid the whole transaction, not one savepoint."""


def open_connection(path: Path, clock: HighWater, boot: str, *, read_only: bool) -> Connection:
    """Open a connection whose transactions begin as their work needs it.

    A deferred transaction that reads and then writes fails with "database is locked" despite any
    timeout, so writers begin IMMEDIATE.
    """
    engine = create_engine(
        "sqlite://",
        creator=lambda: connect(path, clock, read_only=read_only),
        poolclass=StaticPool,
    )
    words = "BEGIN" if read_only else "BEGIN IMMEDIATE"
    event.listen(engine, "begin", lambda conn: conn.exec_driver_sql(words))
    conn = engine.connect()
    attach(conn, Context(boot=boot, alone=True, clock=clock))
    return conn


class Writer:
    """The one connection that writes; used by one thread at a time."""

    def __init__(
        self,
        path: Path,
        clock: HighWater,
        boot: str,
        ballast: DiskReserve,
        journal: str | None = None,
    ) -> None:
        self._path, self._clock, self._ballast = path, clock, ballast
        self._boot, self._journal = boot, journal
        self._conn: Connection | None = None
        self._marked_ms = 0
        self._changes = 0
        self._looked = 0.0

    def open(self) -> None:
        """Open, prepare the schema, take up the clock's mark, load the ballast."""
        self._conn = open_connection(self._path, self._clock, self._boot, read_only=False)
        try:
            with self._conn.begin():
                prepare(self._conn)
                mark = Mark(*self._conn.exec_driver_sql(READ_MARK).one())
                asked = self._conn.exec_driver_sql(_IS_ASKED).first() is not None
        except BaseException:
            self.close()
            raise
        self._clock.take_up(mark, idle=not asked)
        self._marked_ms = mark.high_ms
        context = context_of(self._conn)
        context.full, context.journal = not self._ballast.load(), self._journal

    def close(self) -> None:
        """Keep the clock's mark and let go of the file."""
        conn, self._conn = self._conn, None
        if conn is None:
            return
        # A full or broken disk must not keep the file held.
        with contextlib.suppress(SQLAlchemyError, sqlite3.Error, OSError), conn.begin():
            self._write_mark(conn)
        conn.close()
        conn.engine.dispose()

    def commit(self, group: Sequence[Job]) -> None:
        """Run and commit a group; afterwards each job holds its result or its error."""
        conn = self._conn
        if conn is None:
            raise StoreError(CLOSED)
        self._look_for_space(conn)
        if len(group) == 1:
            self._alone(conn, group[0])
            return
        try:
            self._together(conn, group)
        except Exception:  # noqa: BLE001 - each job meets the cause again, alone
            for job in group:
                job.error = None
                self._alone(conn, job)

    def _together(self, conn: Connection, group: Sequence[Job]) -> None:
        with conn.begin():
            for job in group:
                try:
                    with conn.begin_nested():
                        job.attempt(conn)
                except Exception as error:  # one job's bug must not end the others of its group
                    context_of(conn).notes.clear()
                    if self._is_full(error) or not _raw(conn).in_transaction:
                        raise _GroupLost from error
                    job.fail(translated(error, str(self._path)))
            self._keep_mark(conn)

    def _alone(self, conn: Connection, job: Job) -> None:
        try:
            self._try(conn, job)
        except Exception as error:  # noqa: BLE001 - handed to the caller
            remains = self._last_reserve(conn, job, error)
            if remains is not None:
                job.fail(remains)

    def _try(self, conn: Connection, job: Job) -> None:
        context_of(conn).notes.clear()
        with conn.begin():
            job.attempt(conn)
            self._keep_mark(conn)

    def _last_reserve(self, conn: Connection, job: Job, error: Exception) -> BaseException | None:
        """Try once more with the ballast's room; return the error that remains."""
        if not self._is_full(error):
            return translated(error, str(self._path))
        self._ballast.drop()
        context_of(conn).full = True
        self._looked = time.monotonic()
        try:
            self._try(conn, job)
        except Exception as again:  # noqa: BLE001 - handed to the caller
            return translated(again, str(self._path))
        return None

    def _look_for_space(self, conn: Connection) -> None:
        context = context_of(conn)
        if not context.full or time.monotonic() - self._looked < _LOOK_FOR_SPACE_S:
            return
        self._looked = time.monotonic()
        context.full = not self._ballast.load()

    def _is_full(self, error: Exception) -> bool:
        return is_full(error, nearly_full=self._ballast.nearly_full())

    def _keep_mark(self, conn: Connection) -> None:
        """Write the clock's mark now and then: a reboot may regain at most that much time."""
        now, changes = self._clock(), _raw(conn).total_changes
        after = _MARK_AFTER_CHANGE_MS if changes != self._changes else _MARK_WHEN_IDLE_MS
        if now - self._marked_ms >= after:
            self._write_mark(conn)
            self._marked_ms = now
        self._changes = _raw(conn).total_changes

    def _write_mark(self, conn: Connection) -> None:
        mark = self._clock.mark()
        conn.exec_driver_sql(_WRITE_MARK, (mark.high_ms, mark.steady, mark.steady_ms))


def _raw(conn: Connection) -> sqlite3.Connection:
    raw = conn.connection.driver_connection
    if not isinstance(raw, sqlite3.Connection):
        raise StoreError(CLOSED)
    return raw

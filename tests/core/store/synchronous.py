"""Run operations one at a time, without an event loop in the test."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

from tests.core.store.mutants import StoreCode
from tests.support.postgres import PostgresServer
from tests.support.stores import MOVABLE_CLOCK, START_MS, ManualClock


class Direct(Protocol):
    """A store that a synchronous test can drive, restart and move through time."""

    def run(self, op: Callable[..., Any], *args: object) -> Any:
        """Run one operation in one transaction."""

    def advance(self, ms: int) -> None:
        """Move the wall clock, also backwards."""

    def now(self) -> int:
        """Return the wall clock in epoch ms."""

    def crash(self) -> None:
        """Lose everything that is not on disk, and open again."""

    def end(self) -> None:
        """Release the database."""


class _Clock:
    """A high-water clock that a crash replaces with a fresh one."""

    def __init__(self, code: StoreCode) -> None:
        self.wall = ManualClock()
        self._make = code.module("engine.clock").HighWater
        self.forget()

    def forget(self) -> None:
        """Start again from the wall clock."""
        self._inner = self._make(self.wall, self.wall)

    def __call__(self) -> int:
        """Return the store's time."""
        return int(self._inner())

    def mark(self) -> Any:
        """Return what the database keeps."""
        return self._inner.mark()

    def take_up(self, mark: Any, *, idle: bool = False) -> None:
        """Take over the mark that the database kept."""
        self._inner.take_up(mark, idle=idle)


class DirectSqlite:
    """Operations on a SQLite file; the wall clock is the test's own.

    One object serves all examples, because compiling the statements again would take most of the
    time.
    """

    def __init__(self, code: StoreCode, folder: Path) -> None:
        self._code, path = code, folder / "state.db"
        self._clock = _Clock(code)
        self._tables = code.module("schema.people_tables").ALL_TABLES.sorted_tables
        self._writing = code.module("engine.sqlite.writer")
        ballast = code.module("engine.sqlite.disk_reserve").DiskReserve(path)
        self._writer = self._writing.Writer(path, self._clock, "boot-0", ballast)
        self._writer.open()

    def fresh(self) -> "DirectSqlite":
        """Empty every table and set the clock to the start."""
        with self._writer._conn.begin():
            for table in self._tables:
                if table.name not in {"schema_version", "clock"}:
                    self._writer._conn.execute(table.delete())
            self._writer._conn.exec_driver_sql("UPDATE clock SET high_ms = 0")
        self._clock.wall.ms = START_MS
        self._clock.forget()
        self._writer._marked_ms = 0
        return self

    def run(self, op: Callable[..., Any], *args: object) -> Any:
        """Run one operation in a group of its own."""
        job = self._writing.Job(lambda conn: op(conn, *args), None)
        self._writer.commit([job])
        if job.error is not None:
            raise job.error
        return job.result

    def advance(self, ms: int) -> None:
        """Move the wall clock."""
        self._clock.wall.ms += ms

    def now(self) -> int:
        """Return the wall clock."""
        return self._clock.wall.ms

    def crash(self) -> None:
        """Drop the connection without notice, and open the file again."""
        engine = self._writer._conn.engine
        self._writer._conn.close()
        engine.dispose()
        self._writer._conn = conn = engine.connect()
        context = self._code.module("engine.context")
        context.attach(conn, context.Context(boot=uuid4().hex, alone=True, clock=self._clock))
        self._clock.forget()
        with conn.begin():
            high_ms = conn.exec_driver_sql("SELECT high_ms FROM clock").scalar_one()
            self._clock.take_up(self._code.module("engine.clock").Mark(high_ms))

    def end(self) -> None:
        """Stay open for the next example."""


class DirectPostgres:
    """Operations through the PostgreSQL runner; the clock is moved by a table."""

    def __init__(self, code: StoreCode, server: PostgresServer) -> None:
        self._code, self._server, self._url = code, server, server.create()
        self._runner = asyncio.Runner()
        self._store = self._runner.run(code.module("open").open_store(self._url))
        for statement in MOVABLE_CLOCK:
            server.run(statement, self._url)
        self._moved, self._began = 0, time.monotonic()

    def run(self, op: Callable[..., Any], *args: object) -> Any:
        """Run one operation."""
        return self._runner.run(self._store.write(op, *args))

    def advance(self, ms: int) -> None:
        """Move the database's clock."""
        self._moved += ms
        # The store's loop runs meanwhile: a mark that it was writing holds the clock's row, and
        # would never be committed in a loop that rests.
        self._runner.run(asyncio.to_thread(self._server.run, f"SELECT move_clock({ms})", self._url))

    def now(self) -> int:
        """Return how far the clock is since the beginning: moved, and by itself."""
        return self._moved + int((time.monotonic() - self._began) * 1000)

    def crash(self) -> None:
        """Open a second store and drop the first without ceremony."""
        self._runner.run(self._store.close())
        self._store = self._runner.run(self._code.module("open").open_store(self._url))

    def end(self) -> None:
        """Close the store and its loop."""
        self._runner.run(self._store.close())
        self._runner.close()

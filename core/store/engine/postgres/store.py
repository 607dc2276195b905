"""Run operations on PostgreSQL through asyncpg, several gateways on one database.

The connection is reopened for the next operation if it broke. An operation that broke before
its COMMIT was sent is repeated; a COMMIT whose answer was lost is in doubt, and the caller repeats
the call with its idempotency key.
"""

import asyncio
import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import asyncpg
from sqlalchemy import Connection, bindparam, func, select, text
from sqlalchemy.dialects.postgresql import ARRAY, TEXT
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine

from core.errors import CommitInDoubt, StoreError
from core.store.engine.clock import Milliseconds, steady_ms
from core.store.engine.context import Context, attach
from core.store.engine.errors import is_conflict, translated
from core.store.engine.notifications import take_notes
from core.store.engine.postgres.listener import CHANNEL, Listening
from core.store.engine.postgres.wall_clock import ClockStepped, Followed, take_up
from core.store.engine.protocol import CLOSED, Listener, Listeners
from core.store.schema.prepare import prepare

P = ParamSpec("P")
T = TypeVar("T")

_POOL: Final = 8
_COMMAND_TIMEOUT_S: Final = 5.0
_PAUSES_S: Final = (0.0, 0.1, 0.4, 1.0)
_POOL_WAIT_S: Final = 15.0
_PATIENCE_S: Final = 30.0
"""No try begins later: a database that answers nothing holds all connections of the pool, and one
that waits for a connection waits again at each try."""
_SCHEMA_LOCK: Final = text("SELECT pg_advisory_xact_lock(7311962503)")
_TICK_S: Final = 1.0
_FIRST_MARK_S: Final = 3.0
"""A gateway that starts in the second in which another corrects a step marks nothing yet."""
_LONGEST_NOTE: Final = 2_000  # characters; PostgreSQL refuses payloads of 8,000 bytes
_NOTIFY = select(func.pg_notify(CHANNEL, func.unnest(bindparam("p_notes", type_=ARRAY(TEXT)))))


class _Again(Exception):
    """The operation failed before its commit, for a reason that may have passed."""


class PostgresStore:
    """A store in a PostgreSQL database, shared by replicas."""

    def __init__(self, url: str, steady: Milliseconds, journal: str | None) -> None:
        self._where = make_url(url).render_as_string(hide_password=True)
        self._engine: AsyncEngine = create_async_engine(
            "postgresql+asyncpg://",
            async_creator=lambda: _connect(url),
            pool_size=_POOL,
            max_overflow=0,
            pool_timeout=_POOL_WAIT_S,
        )
        self._boot, self._journal = uuid.uuid4().hex, journal
        self._followed = Followed(steady)
        self._correcting = asyncio.Lock()
        self._listeners = Listeners()
        self._listening = Listening(lambda: _connect(url), self._boot, self._listeners.notify)
        self._keeper: asyncio.Task[None] | None = None
        self._closed = False
        self._busy: set[asyncio.Task[Any]] = set()  # of whatever type each operation returns

    async def start(self) -> None:
        """Prepare the schema under a lock, begin to listen and to keep the clock's mark."""
        await self._transact(_prepare)
        await self._listening.start()
        self._keeper = asyncio.create_task(self._keep_clock(), name="sayso-clock-mark")

    async def write(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one operation in one transaction; return after its commit (see ``Store``)."""
        result, notes = await self._transact(lambda conn: op(conn, *args, **kwargs))
        for words in notes:
            self._listeners.notify(words)
        return result

    async def read(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one reading operation (see ``Store``)."""
        result, _ = await self._transact(lambda conn: op(conn, *args, **kwargs))
        return result

    async def read_beside(
        self, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """Run one long reading operation (see ``Store``): each has a connection of its own here."""
        return await self.read(op, *args, **kwargs)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call ``listener`` with each wake-up; return what unsubscribes it."""
        return self._listeners.add(listener)

    async def close(self) -> None:
        """Stop listening and close the pool."""
        if self._closed:
            return
        self._closed = True
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.gather(self._keeper, return_exceptions=True)
        await self._listening.stop()
        await asyncio.gather(*self._busy, return_exceptions=True)
        await self._engine.dispose()

    async def _transact(self, call: Callable[[Connection], T]) -> tuple[T, tuple[str, ...]]:
        if self._closed:
            raise StoreError(CLOSED)
        # In a task of its own: a caller that gives up must not cut a transaction in two.
        task = asyncio.create_task(self._persist(call))
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        return await asyncio.shield(task)

    async def _persist(self, call: Callable[[Connection], T]) -> tuple[T, tuple[str, ...]]:
        cause: BaseException = StoreError()
        end = time.monotonic() + _PATIENCE_S
        for pause in _PAUSES_S:
            try:
                return await self._steadied(call)
            except (_Again, ClockStepped) as again:
                cause = again.__cause__ or again
            if time.monotonic() + pause > end:
                break
            await asyncio.sleep(pause)
        raise translated(cause, self._where) from cause

    async def _steadied(self, call: Callable[[Connection], T]) -> tuple[T, tuple[str, ...]]:
        try:
            return await self._once(call)
        except ClockStepped:
            await self._correct()
            return await self._once(call)

    async def _correct(self) -> None:
        """Undo a step of the clock; whoever comes in the meantime finds that done."""
        async with self._correcting:
            found, _ = await self._once(self._followed.correct)
            self._followed.believe(found)  # committed: before that, others read the old offset

    async def _once(self, call: Callable[[Connection], T]) -> tuple[T, tuple[str, ...]]:
        try:
            conn = await self._engine.connect()
        except (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            raise _Again from error
        try:
            done = await self._attempt(conn, call)
            await self._commit(conn, done[0])
            return done
        finally:
            await _let_go(conn)

    async def _attempt(
        self, conn: AsyncConnection, call: Callable[[Connection], T]
    ) -> tuple[T, tuple[str, ...]]:
        try:
            return await conn.run_sync(self._perform, call)
        except ClockStepped:
            raise
        except Exception as error:  # the caller's own too: all leave as errors of the store
            if _is_lost(error) or is_conflict(error):
                raise _Again from error
            raise translated(error, self._where) from error

    def _perform(
        self, conn: Connection, call: Callable[[Connection], T]
    ) -> tuple[T, tuple[str, ...]]:
        known = Context(self._boot, alone=False, followed=self._followed, journal=self._journal)
        attach(conn, known)
        result = call(conn)
        notes = take_notes(conn)
        if notes:
            # In the transaction: delivered by PostgreSQL at the commit, to every other replica.
            payloads = [f"{self._boot}|{words[:_LONGEST_NOTE]}" for words in notes]
            conn.execute(_NOTIFY, {"p_notes": payloads})
        return result, notes

    async def _commit(self, conn: AsyncConnection, made: object) -> None:
        try:
            await conn.commit()
        except Exception as error:  # what the driver raises when a link breaks is not one family
            if is_conflict(error):
                raise _Again from error
            if _is_lost(error):
                raise CommitInDoubt(
                    f"The connection to {self._where} broke during a commit, so its result is "
                    "unknown. Repeat the call with the same idempotency key.",
                    made,
                ) from error
            raise translated(error, self._where) from error

    async def _keep_clock(self) -> None:
        """Read the database's clock each second, and keep its mark."""
        await asyncio.sleep(_FIRST_MARK_S)
        while True:
            with suppress(StoreError):  # unreachable: the next call reports it
                await self._transact(self._followed.mark)
            await asyncio.sleep(_TICK_S)


_BROKEN = (SQLAlchemyError, OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError)
"""What closing a broken connection raises."""


def _is_lost(error: BaseException) -> bool:
    if isinstance(error, DBAPIError):
        return bool(error.connection_invalidated)
    return isinstance(error, ConnectionError | TimeoutError | asyncpg.InterfaceError)


async def _let_go(conn: AsyncConnection) -> None:
    """Give a connection back to the pool; one that breaks over its ROLLBACK is discarded.

    Its transaction is over either way, and the caller has the result or the error that counts.
    """
    try:
        await conn.close()
    except _BROKEN:
        with suppress(*_BROKEN):
            await conn.invalidate()
        with suppress(*_BROKEN):
            await conn.close()


async def _connect(url: str) -> asyncpg.Connection:
    return await asyncpg.connect(
        url, timeout=_COMMAND_TIMEOUT_S, command_timeout=_COMMAND_TIMEOUT_S
    )


def _prepare(conn: Connection) -> None:
    conn.execute(_SCHEMA_LOCK)  # two replicas that start at once: one creates, one finds
    prepare(conn)
    take_up(conn)


async def open_postgres(
    url: str, steady: Milliseconds = steady_ms, journal: str | None = None
) -> PostgresStore:
    """Connect, migrate under a lock, listen; ``steady`` is a clock in ms that nobody can set.

    ``journal``: see ``open_store``.

    Raises:
        StoreError: it cannot be reached, refuses the login, or is newer than this Sayso.
    """
    store = PostgresStore(url, steady, journal)
    try:
        await store.start()
    except BaseException:
        await store.close()
        raise
    return store

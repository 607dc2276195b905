"""Read a store from outside its gateway: nothing is locked, made, migrated or written."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, Final, ParamSpec, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, create_engine, inspect, select
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from core.errors import StoreError
from core.store.engine.clock import READ_MARK, HighWater, Mark, Milliseconds, steady_name, wall_ms
from core.store.engine.errors import words_of
from core.store.schema.tables import SCHEMA_VERSION, schema_version

P = ParamSpec("P")
T = TypeVar("T")
_SQLITE: Final = "sqlite:///"
_POSTGRES: Final = ("postgresql://", "postgres://")
_TIMEOUT_S: Final = 30.0


class OlderSchema(StoreError):
    """The database belongs to an older version of Sayso, and the next gateway migrates it."""


def open_and_read(
    url: str, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Run one reading operation on a store, whether a gateway holds it or not.

    Raises:
        StoreError: there is no store at ``url``, it has another schema, or it cannot be read.
    """

    def call(conn: Connection) -> T:
        _check(conn)
        return op(conn, *args, **kwargs)

    if url.startswith(_SQLITE):
        return _from_sqlite(Path("/" + url.removeprefix(_SQLITE).lstrip("/")), call)
    if url.startswith(_POSTGRES):
        from core.store.engine.postgres.read_only import read_once  # noqa: PLC0415 - 120 ms of imports

        return asyncio.run(read_once(url, call))
    raise StoreError("store.url must begin with sqlite:/// or postgresql://. Fix store.url.")


def _check(conn: Connection) -> None:
    found = None
    if inspect(conn).has_table(schema_version.name):
        found = conn.execute(select(schema_version.c.version_num)).scalar()
    if found is not None and found > SCHEMA_VERSION:
        raise StoreError(
            f"The store has schema {found}, this command knows {SCHEMA_VERSION}. "
            "Start the newer Sayso, or restore the backup made before it."
        )
    if found != SCHEMA_VERSION:
        raise OlderSchema(
            f"The store has schema {found}, this command knows {SCHEMA_VERSION}. "
            "Start the gateway of this version once; it migrates the store."
        )


def _from_sqlite(path: Path, call: Callable[[Connection], T]) -> T:
    if not path.is_file():
        raise StoreError(f"There is no store at {path}. Start the gateway once, or set store.url.")
    engine = create_engine("sqlite://", creator=lambda: _connect(path), poolclass=NullPool)
    try:
        with engine.connect() as conn:
            return call(conn)
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise StoreError(f"The store {path} cannot be read: {words_of(error)}.") from error
    finally:
        engine.dispose()


def _connect(path: Path) -> sqlite3.Connection:
    # Without write access to its folder SQLite cannot make the shared index of a WAL file that a
    # gateway closed cleanly; such a file is complete as is, so `immutable` is safe.
    live = path.with_name(f"{path.name}-wal").exists()
    mode = "mode=ro" if live else "mode=ro&immutable=1"
    raw = sqlite3.connect(f"file:{quote(str(path))}?{mode}", uri=True, timeout=_TIMEOUT_S)
    raw.create_function("sayso_now", 0, _gateways_clock(raw))
    return raw


def _gateways_clock(raw: sqlite3.Connection) -> Milliseconds:
    """Return the clock that the gateway has by the mark in its store."""
    clock = HighWater(name=steady_name())
    try:
        clock.take_up(Mark(*raw.execute(READ_MARK).fetchone()))
    except sqlite3.Error:
        return wall_ms  # another schema, which is refused before anything asks for the time
    return clock

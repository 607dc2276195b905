"""Turn what drivers raise into ``StoreError`` and ``StoreFull``; nothing raw leaves the store."""

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import BadRequest, SaysoError, StoreAway, StoreError, StoreFull

_FULL: Final = sqlite3.SQLITE_FULL
_IO: Final = sqlite3.SQLITE_IOERR
_PG_NO_SPACE: Final = frozenset(("53100",))  # disk_full
_PG_AWAY: Final = ("08", "57", "53", "58", "28", "3D", "25006", "25P03", "25P04", "55P03")
"""Errors of a server that cannot be used at present, whatever is asked of it.

Connection exceptions; shut down, crashed, starting, a statement cancelled or out of time; too few
resources; its disk; a login that it refuses; no such database; a standby, which only reads; a
transaction that was out of time; a lock that could not be had.
"""
_DATABASE: Final = (SQLAlchemyError, sqlite3.Error, OSError, TimeoutError)
_PG_AGAIN: Final = frozenset(("40001", "40P01"))  # serialization_failure, deadlock_detected


def sqlite_code(error: BaseException) -> int:
    """Return SQLite's primary result code, 0 where the error is not SQLite's."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    return int(getattr(origin, "sqlite_errorcode", 0) or 0) & 0xFF


def is_full(error: BaseException, *, nearly_full: bool) -> bool:
    """Return whether SQLite failed for lack of space; an I/O error counts if there is none."""
    code = sqlite_code(error)
    return code == _FULL or (code == _IO and nearly_full)


def sqlstate(error: BaseException) -> str:
    """Return PostgreSQL's five-character code, empty where the error is not PostgreSQL's."""
    origin = error.orig if isinstance(error, DBAPIError) else error
    return str(getattr(origin, "sqlstate", None) or "")


def is_conflict(error: BaseException) -> bool:
    """Return whether PostgreSQL undid the transaction in favour of another: try again."""
    return sqlstate(error) in _PG_AGAIN


def is_away(error: BaseException) -> bool:
    """Return whether the database itself cannot be used at present, whatever is asked of it."""
    if sqlstate(error).startswith(_PG_AWAY):
        return True
    if isinstance(error, DBAPIError) and error.connection_invalidated:
        return True
    kinds = (InterfaceError, OperationalError, PoolTimeout, sqlite3.OperationalError)
    if isinstance(error, (*kinds, OSError, TimeoutError)):
        return True
    # asyncpg's, which is imported only where PostgreSQL is used.
    return type(error).__name__ == "InterfaceError"


def translated(error: BaseException, where: str) -> BaseException:
    """Return the error that a caller sees; ``where`` names the database, without a password."""
    if isinstance(error, SaysoError):
        return error
    if isinstance(error, UnicodeEncodeError):
        return BadRequest(
            "The request contains a lone surrogate, which is not valid text. Correct it."
        )
    if sqlstate(error) in _PG_NO_SPACE or sqlite_code(error) == _FULL:
        return StoreFull(f"The disk of {where} is full, so nothing runs. Free some space.")
    if isinstance(error, _DATABASE) or type(error).__module__.startswith("asyncpg."):
        kind = StoreAway if is_away(error) else StoreError
        return kind(
            f"The database {where} failed: {words_of(error)}. Nothing runs until it works; "
            + ("check its server and store.url." if "://" in where else "check its disk.")
        )
    return error


def words_of(error: BaseException) -> str:
    """Return what a database says about an error, without the library's statement and links."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    # A timeout has no words of its own.
    silent = "no answer in time" if isinstance(cause, TimeoutError) else type(cause).__name__
    return str(cause) or silent

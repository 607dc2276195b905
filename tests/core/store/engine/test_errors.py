"""Which errors say that the database cannot be used at present."""

import sqlite3

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.store.engine.errors import is_away


@pytest.mark.parametrize(
    "error",
    [
        asyncpg.InterfaceError("connection is closed"),
        InterfaceError("select 1", {}, Exception()),
        OperationalError("select 1", {}, Exception()),
        PoolTimeout(),
        sqlite3.OperationalError("disk I/O error"),
        ConnectionRefusedError(),
        TimeoutError(),
        DBAPIError("select 1", {}, Exception(), connection_invalidated=True),
    ],
    ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
)
def test_the_database_is_away(error: BaseException) -> None:
    """A connection that is lost, refused or not to be had; a disk that fails."""
    assert is_away(error)


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no"),
        KeyError("a"),
        IntegrityError("insert", {}, Exception()),
        DBAPIError("select 1", {}, Exception()),
        sqlite3.IntegrityError("unique"),
    ],
    ids=lambda error: f"{type(error).__module__}.{type(error).__name__}",
)
def test_another_error_is_the_operations_own(error: BaseException) -> None:
    """Trying the same again later would not help."""
    assert not is_away(error)

"""Map the errors that say that the database is away, and the words for them."""

import sqlite3

import asyncpg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from core.errors import StoreAway
from core.store.engine.errors import is_away, translated
from tests.support.tables import rows


@rows(
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
)
def test_the_database_is_away(error: BaseException) -> None:
    """A lost, refused or unavailable connection; a failing disk."""
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
    """Retrying later would not help."""
    assert not is_away(error)


def test_what_to_check_is_what_the_database_needs() -> None:
    """A server has an address; a file has a disk."""
    gone = ConnectionRefusedError("refused")
    server = str(translated(gone, "postgresql://u:***@db/x"))
    assert server.endswith("Nothing runs until it works; check its server and store.url.")
    file = str(translated(gone, "/home/ana/.sayso/state.db"))
    assert file.endswith("Nothing runs until it works; check its disk.")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (TimeoutError(), "failed: no answer in time. Nothing runs"),
        (TimeoutError("timed out"), "failed: timed out. Nothing runs"),
        (ConnectionResetError(), "failed: ConnectionResetError. Nothing runs"),
    ],
)
def test_an_error_that_says_nothing_is_named(error: Exception, words: str) -> None:
    """A driver that runs out of time raises an error without a message."""
    said = translated(error, "the database x")

    assert isinstance(said, StoreAway)
    assert words in str(said)

"""Have PostgreSQL refuse or cut off in each way it can: the store raises its own error."""

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection

from core.errors import BadRequest, StoreAway, StoreError
from core.store import open_store
from core.store.engine.clock import now_ms
from core.store.engine.postgres import store as postgres
from core.store.engine.postgres.store import PostgresStore
from tests.support.postgres import PostgresServer

_TIMES = 20
"""More than the pool has connections."""


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[PostgresStore]:
    """Yield a store in PostgreSQL."""
    opened = await open_store(postgres_url)
    assert isinstance(opened, PostgresStore)
    yield opened
    await opened.close()


def cut_off_and_refuse(conn: Connection, url: str) -> None:
    """Have the server end this very connection, then fail for a reason of our own."""
    pid = conn.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
    statement = f"SELECT pg_terminate_backend({pid}, 5000)"
    other = threading.Thread(target=lambda: PostgresServer(url).run(statement))
    other.start()
    other.join()
    raise BadRequest("no")


async def test_a_connection_that_breaks_over_a_failure_hides_it_not(
    store: PostgresStore, postgres_url: str
) -> None:
    """The caller is told why its operation failed, and the pool keeps no broken connection."""
    for _ in range(_TIMES):
        with pytest.raises(BadRequest):
            await store.write(cut_off_and_refuse, postgres_url)
    async with asyncio.timeout(10):
        await asyncio.gather(*(store.read(now_ms) for _ in range(_TIMES)))


async def test_without_the_catch_the_drivers_own_error_gets_out(
    store: PostgresStore, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: no code expects that one; the parts that must survive die of it."""
    monkeypatch.setattr(postgres, "_let_go", AsyncConnection.close)
    with pytest.raises(DBAPIError):
        await store.write(cut_off_and_refuse, postgres_url)


@pytest.mark.parametrize(
    "statements",
    [
        ("SET TRANSACTION READ ONLY", "CREATE TABLE nothing (id int)"),
        ("SET LOCAL statement_timeout = 1", "SELECT pg_sleep(5)"),
        ("SELECT pg_cancel_backend(pg_backend_pid())", "SELECT pg_sleep(5)"),
        ("SET LOCAL idle_in_transaction_session_timeout = 1", "SELECT pg_sleep(0.2)"),
    ],
    ids=["standby", "timeout", "cancelled", "idle"],
)
async def test_what_no_operation_can_help_counts_as_away(
    store: PostgresStore, statements: tuple[str, ...]
) -> None:
    """It is logged once, and counted; before, each part logged each failure."""

    def refused(conn: Connection) -> None:
        for statement in statements:
            conn.exec_driver_sql(statement)
        if "idle" in statements[0]:
            threading.Event().wait(0.5)
            conn.exec_driver_sql("SELECT 1")

    with pytest.raises(StoreAway):
        await store.write(refused)


async def test_what_an_operation_did_wrong_does_not(store: PostgresStore) -> None:
    """The control: another operation would work."""
    with pytest.raises(StoreError) as wrong:
        await store.write(lambda conn: conn.exec_driver_sql("SELECT 1 / 0"))
    assert not isinstance(wrong.value, StoreAway)

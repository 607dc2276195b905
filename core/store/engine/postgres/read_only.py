"""Read a store on PostgreSQL from outside its gateways, in a transaction that cannot write."""

from collections.abc import Callable
from typing import Final, TypeVar

import asyncpg
from sqlalchemy import Connection
from sqlalchemy.engine import make_url
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from core.errors import StoreError
from core.store.engine.errors import words_of

T = TypeVar("T")
_TIMEOUT_S: Final = 30.0


async def read_once(url: str, call: Callable[[Connection], T]) -> T:
    """Run one reading operation on a connection of its own.

    Raises:
        StoreError: the database cannot be read.
    """
    where = make_url(url).render_as_string(hide_password=True)
    engine = create_async_engine(
        "postgresql+asyncpg://",
        async_creator=lambda: asyncpg.connect(
            url,
            timeout=_TIMEOUT_S,
            command_timeout=_TIMEOUT_S,
            server_settings={"default_transaction_read_only": "on"},
        ),
        poolclass=NullPool,
    )
    try:
        async with engine.connect() as conn:
            return await conn.run_sync(call)
    except (SQLAlchemyError, OSError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreError(f"The store {where} cannot be read: {words_of(error)}.") from error
    finally:
        await engine.dispose()

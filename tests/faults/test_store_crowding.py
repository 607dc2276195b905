"""Ask for the last slot from two replicas of one PostgreSQL: one gets it, at any timing."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest
from sqlalchemy import Connection, select, text

from core.model.pending_limits import PendingLimits
from core.store import Store, approvals, open_store
from core.store.approvals import limits
from core.store.schema.records import ApprovalDraft
from core.store.views import status
from tests.support.store_records import HALF_HOUR, draft

ONE = PendingLimits(per_agent=1)
_BARRIER = 20_261_122
_WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted"


@pytest.fixture
async def replicas(postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Yield two gateways on one database."""
    first, second = await open_store(postgres_url), await open_store(postgres_url)
    yield first, second
    await first.close()
    await second.close()


@pytest.fixture
async def barrier(postgres_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Yield a connection that delays the requester and blocks its commit."""
    held = await asyncpg.connect(postgres_url)
    await held.execute(f"SELECT pg_advisory_lock({_BARRIER})")
    yield held
    await held.close()


def _ask_slowly(conn: Connection, question: ApprovalDraft) -> None:
    """Record a question, and wait before the commit until the barrier is lifted."""
    approvals.create(conn, question, ONE)
    conn.execute(text(f"SELECT pg_advisory_xact_lock({_BARRIER})"))


async def _until_waiting(
    barrier: asyncpg.Connection, count: int, other: "asyncio.Task[object]"
) -> None:
    """Wait until this many transactions wait, or the other one is over."""
    async with asyncio.timeout(30):
        while await barrier.fetchval(_WAITING) < count and not other.done():
            await asyncio.sleep(0.01)


async def _both(
    replicas: tuple[Store, Store], barrier: asyncpg.Connection
) -> tuple[bool, "asyncio.Task[object]"]:
    """Ask here, and there before it is committed; return whether the second had to wait."""
    here, there = replicas
    question = draft(timeout_ms=HALF_HOUR)
    first: asyncio.Task[object] = asyncio.create_task(here.write(_ask_slowly, question))
    await _until_waiting(barrier, 1, first)
    late = draft(timeout_ms=HALF_HOUR)
    second: asyncio.Task[object] = asyncio.create_task(there.write(approvals.create, late, ONE))
    await _until_waiting(barrier, 2, second)
    waited = not second.done()
    await barrier.execute(f"SELECT pg_advisory_unlock({_BARRIER})")
    await asyncio.wait((first, second))
    assert first.exception() is None
    return waited, second


async def test_who_asks_for_the_last_place_waits_for_who_is_taking_it(
    replicas: tuple[Store, Store], barrier: asyncpg.Connection
) -> None:
    """Even what is not yet committed takes its slot."""
    waited, second = await _both(replicas, barrier)
    assert waited
    assert isinstance(second.exception(), approvals.TooMany)
    assert await replicas[0].read(status.pending) == 1


async def test_without_the_lock_both_would_take_it(
    replicas: tuple[Store, Store],
    barrier: asyncpg.Connection,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The negative control: no one sees what another has not committed."""
    monkeypatch.setattr(limits, "_ONE_AT_A_TIME", select(1))
    waited, second = await _both(replicas, barrier)
    assert (waited, second.exception()) == (False, None)
    assert await replicas[0].read(status.pending) == 2

"""Close a store on PostgreSQL in order."""

import asyncio

import pytest

from core.errors import StoreError
from core.store import open_store
from core.store.runs import outcomes, runs
from tests.support.store_records import new_id, run_draft


async def test_a_closed_store_says_so(postgres_url: str) -> None:
    """What is under way is committed; closing twice is fine; using it afterwards is an error."""
    store = await open_store(postgres_url)
    waiting = asyncio.ensure_future(store.write(runs.begin, run_draft()))
    await asyncio.sleep(0)
    await store.close()
    await store.close()
    assert await waiting
    for call in (store.write, store.read):
        with pytest.raises(StoreError, match="closed"):
            await call(outcomes.outcome, new_id())

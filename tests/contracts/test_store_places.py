"""State what every engine must remember about where a session belongs."""

import asyncio

from core.model.identity import SessionKey, Target
from core.store import approvals, prune
from core.store.sessions import origins, threads
from tests.support.store_records import GROUP, MINUTE, SESSION, draft
from tests.support.stores import OpenStore

OTHER = SessionKey("main:2")
_DAY = 24 * 60 * MINUTE


async def test_a_session_remembers_the_chat_it_came_from_last(bench: OpenStore) -> None:
    """Chat, account and thread; each session separately; over a restart."""
    elsewhere = Target("slack", "C1", "work", "171.5")
    assert await bench.store.read(origins.origin_of, SESSION) is None
    for place in (GROUP, elsewhere, elsewhere):
        await bench.store.write(origins.remember_origin, SESSION, place)
    store = await bench.again()
    assert await store.read(origins.origin_of, SESSION) == elsewhere
    assert await store.read(origins.origin_of, OTHER) is None


async def test_the_first_thread_of_a_session_and_place_counts(bench: OpenStore) -> None:
    """Two senders open one each at the same moment; both then use the same."""
    base = Target("telegram", "-1001")
    opened = [Target("telegram", "-1001", thread=str(number)) for number in (5, 6)]
    write, read = bench.store.write, bench.store.read
    kept = await asyncio.gather(
        *(write(threads.keep_thread, SESSION, base, thread) for thread in opened)
    )
    assert kept[0] == kept[1]
    assert kept[0] in opened
    assert await read(threads.thread_of, SESSION, GROUP) == kept[0]
    assert await read(threads.thread_of, OTHER, base) is None
    assert await read(threads.thread_of, SESSION, Target("telegram", "-2")) is None


async def test_retention_forgets_a_session_that_is_not_heard_of(bench: OpenStore) -> None:
    """A session seen now and then keeps its chat and its threads."""
    write, read = bench.store.write, bench.store.read
    for session in (SESSION, OTHER):
        await write(origins.remember_origin, session, GROUP)
        await write(threads.keep_thread, session, GROUP, GROUP)
    await bench.advance(3 * _DAY)
    await write(origins.remember_origin, OTHER, GROUP)
    now = (await write(approvals.create, draft())).approval.created_ms
    await write(prune, now - _DAY, 10)
    assert await read(origins.origin_of, SESSION) is None
    assert await read(threads.thread_of, SESSION, GROUP) is None
    assert await read(origins.origin_of, OTHER) == GROUP
    assert await read(threads.thread_of, OTHER, GROUP) == GROUP

"""State what every engine must do with the notice of a waiting node: its end arrives once."""

import pytest

from core.store import outbox
from core.store.outbox import OutboxItem, OutboxKind, node_notices
from core.store.outbox.node_notices import OF_NOTICE
from tests.support.store_records import GROUP
from tests.support.stores import OpenStore

ENDED = f'{OF_NOTICE}, "words": "it was let in"}}'
DAY_MS = 24 * 3_600_000


async def _claim(bench: OpenStore) -> list[OutboxItem]:
    return list(await bench.store.write(outbox.claim, 10, 5_000, (GROUP.channel,)))


async def _notice(bench: OpenStore, key: str = "node:7K3F9Q:1") -> int:
    """Enqueue the notice of a node; return its id."""
    assert await bench.store.write(outbox.enqueue_notice, None, GROUP, '{"n": 1}', key)
    (found,) = await bench.store.read(node_notices.unended)
    assert found.payload == '{"n": 1}'
    return found.id


async def test_one_that_was_sent_is_edited_once(bench: OpenStore) -> None:
    """In its place, however often its end is reported."""
    notice = await _notice(bench)
    (sent,) = await bench.send_all("m")
    for _ in range(2):
        await bench.store.write(node_notices.end, notice, ENDED)

    (edit,) = await _claim(bench)

    assert (edit.kind, edit.message, edit.target) == (OutboxKind.EDIT, f"m{sent.id}", GROUP)
    assert edit.payload == ENDED
    assert await bench.store.read(node_notices.unended) == ()


@pytest.mark.parametrize("claimed", [False, True])
async def test_one_that_was_not_sent_is_not_edited(bench: OpenStore, *, claimed: bool) -> None:
    """It is dropped; one that is being sent is left to the next call."""
    notice = await _notice(bench)
    if claimed:
        await _claim(bench)

    await bench.store.write(node_notices.end, notice, ENDED)

    assert await _claim(bench) == []
    assert len(await bench.store.read(node_notices.unended)) == claimed


async def test_one_that_is_not_there_has_no_end(bench: OpenStore) -> None:
    """And of those of another kind, or of long ago, nothing is found."""
    await bench.store.write(node_notices.end, 9, ENDED)
    assert await _claim(bench) == []

    await bench.store.write(outbox.enqueue_notice, None, GROUP, "{}", "another:1")
    assert await bench.store.read(node_notices.unended) == ()
    await _notice(bench)
    assert len(await bench.store.read(node_notices.recent, DAY_MS)) == 1
    await bench.advance(DAY_MS)
    assert await bench.store.read(node_notices.unended) == ()
    assert await bench.store.read(node_notices.recent, DAY_MS) == ()

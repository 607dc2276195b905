"""State what every engine must report about the message that an edit finalises."""

from dataclasses import replace

from core.model.result import Denied
from core.store import approvals, outbox
from core.store.schema.records import OutboxItem
from core.store.views.status import shown_by
from tests.support.store_records import ALICE, DENY, GROUP, draft
from tests.support.stores import OpenStore

_CLAIM = (10, 30_000, ("telegram",))


async def _denied_one_of_two(bench: OpenStore) -> tuple[OutboxItem, tuple[str, str]]:
    """Show two questions in one message, deny the first; return its edit, and both ids."""
    first, second = draft(targets=(GROUP,)), draft(targets=(GROUP,))
    for one in (first, second):
        await bench.store.write(approvals.create, one)
    items = await bench.store.write(outbox.claim, *_CLAIM)
    await bench.store.write(outbox.sent_group, tuple(item.id for item in items), "m1")
    await bench.store.write(approvals.answer, approvals.Ballot(first.id, DENY, ALICE, "in:1"))
    (edit,) = await bench.store.write(outbox.claim, *_CLAIM)
    return edit, (first.id, second.id)


async def test_an_edit_is_told_all_that_its_message_shows(bench: OpenStore) -> None:
    """In the order of the prompts: the ended one, how it ended, and the one still open."""
    edit, ids = await _denied_one_of_two(bench)
    ended, waiting = await bench.store.read(shown_by, edit)
    assert ids == (ended.approval.id, waiting.approval.id)
    assert ended.approval.resolution is not None
    assert isinstance(ended.outcome, Denied)
    assert waiting.approval.resolution is None
    assert waiting.outcome is None


async def test_a_message_without_a_recorded_prompt_shows_its_own_approval(bench: OpenStore) -> None:
    """The edit still says how its approval ended; one whose approval is gone shows nothing."""
    edit, ids = await _denied_one_of_two(bench)
    unknown = replace(edit, message="m2")
    assert ids[:1] == tuple(one.approval.id for one in await bench.store.read(shown_by, unknown))
    assert () == await bench.store.read(shown_by, replace(unknown, approval_id=None))

"""Record what people are shown once, with its text, and only before the decision."""

import asyncio

from core.model.evidence import Surface, View, basis_of, seen_since, text_hash
from core.model.identity import Actor, ApprovalId
from core.store import approvals, outbox, prune
from core.store.engine.clock import now_ms
from core.store.outbox import showings
from core.store.views.evidence import evidence_of, recorded
from tests.support.store_records import ALICE, GROUP, ONCE, draft
from tests.support.stores import OpenStore

BOB = Actor("telegram", "43", "Bob")


def look(approval_id: ApprovalId, actor: Actor = ALICE, text: str = "all of it") -> View:
    """Return that a person opened a question."""
    return View(approval_id, actor, Surface.WHOLE, text)


async def test_a_copy_is_recorded_with_its_sending(bench: OpenStore) -> None:
    """Once however often it is reported; a copy after the decision is not part of its basis."""
    asked = await bench.ask()
    (item,) = await bench.store.write(outbox.claim, 1, 60_000, (GROUP.channel,))
    for _ in range(2):
        await bench.store.write(outbox.sent, item.id, "m1", "what was sent")
    (shown,) = await bench.store.read(showings.of_approval, asked)
    before = basis_of((shown,))
    assert (shown.surface, shown.channel, shown.message) == (Surface.MESSAGE, "telegram", "m1")
    assert shown.hash == text_hash("what was sent")
    assert await bench.store.read(showings.texts_of, asked) == {shown.hash: "what was sent"}

    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "in:1"))
    await bench.store.write(outbox.sent, item.id, "m2", "what was sent")
    found = await bench.store.read(showings.of_approval, asked)
    assert [one.waiting for one in found] == [True, False]
    assert basis_of(found) == before


async def test_a_look_is_recorded_with_the_answer(bench: OpenStore) -> None:
    """In its transaction, before it is decided; how long it took follows from it."""
    asked = await bench.ask()
    answered = (asked, ONCE, ALICE, "in:1")
    await bench.store.write(approvals.answer, approvals.Ballot(*answered, views=(look(asked),)))
    found = await bench.store.read(evidence_of, asked)
    (shown,) = found.shown
    assert (shown.account, shown.name, shown.waiting) == (ALICE.account, ALICE.name, True)
    assert found.resolution is not None
    assert seen_since(found.shown, ALICE) == shown.at_ms <= found.resolution.at_ms
    assert seen_since(found.shown, BOB) is None


async def test_a_copy_counts_for_who_answered_in_its_chat(bench: OpenStore) -> None:
    """Nothing shows that the answerer from elsewhere reads the group, under a message or not."""
    asked = await bench.ask()
    (item,) = await bench.store.write(outbox.claim, 1, 60_000, (GROUP.channel,))
    await bench.store.write(outbox.sent, item.id, "m1", "what was sent")
    there = (
        View(asked, ALICE, Surface.ANSWERED, "", GROUP.to, ""),
        View(asked, BOB, Surface.ANSWERED, "", "direct", ""),
    )
    await bench.store.write(showings.record_views, there)
    found = await bench.store.read(showings.of_approval, asked)
    (copy,) = [one for one in found if one.surface is Surface.MESSAGE]
    assert seen_since(found, ALICE) == copy.at_ms
    assert seen_since(found, BOB) is None
    await bench.store.write(
        showings.record_views, (View(asked, BOB, Surface.ANSWERED, "", "direct", "m2"),)
    )
    found = await bench.store.read(showings.of_approval, asked)
    (press,) = [one for one in found if one.message == "m2"]
    assert seen_since(found, BOB) == press.at_ms


async def test_a_look_at_what_has_ended_is_not_recorded(bench: OpenStore) -> None:
    """Nothing rests on it. The control, before the end, is."""
    asked = await bench.ask()
    await bench.store.write(showings.record_views, (look(asked), look(asked, text="again")))
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "in:1"))
    await bench.store.write(showings.record_views, (look(asked, BOB),))
    (only,) = await bench.store.read(showings.of_approval, asked)
    assert only.account == ALICE.account
    assert only.hash == text_hash("all of it")


async def test_a_look_and_the_answer_of_one_moment_agree(bench: OpenStore) -> None:
    """Whichever comes first, the basis that is read after the decision stays what it is."""
    for number in range(8):
        asked = await bench.ask(draft(digest=f"{number:02d}" * 32))
        write = bench.store.write

        async def decided(asked: ApprovalId = asked) -> str:
            await bench.store.write(
                approvals.answer, approvals.Ballot(asked, ONCE, ALICE, f"in:{asked}")
            )
            return basis_of(await bench.store.read(showings.of_approval, asked))

        basis, _ = await asyncio.gather(
            decided(), write(showings.record_views, (look(asked, BOB),))
        )
        assert basis == basis_of(await bench.store.read(showings.of_approval, asked))


async def test_evidence_is_forgotten_with_its_approval(bench: OpenStore) -> None:
    """And is read with it until then."""
    asked = await bench.ask()
    await bench.store.write(showings.record_views, (look(asked),))
    await bench.store.write(approvals.cancel, asked, "")
    (known,) = await bench.store.read(recorded, (asked, "unknown"))
    assert known.approval.id == asked
    assert len(known.shown) == len(known.texts) == 1
    later = await bench.store.read(now_ms) + 1_000
    await bench.store.write(prune, later)
    assert await bench.store.read(recorded, (asked,)) == ()
    assert await bench.store.read(showings.texts_of, asked) == {}

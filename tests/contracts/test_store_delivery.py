"""State what every engine must do until a question is delivered: clock, ladder, fail-over."""

import asyncio

import pytest

from core.model.approval import Approval, ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, SessionKey, Target
from core.model.result import Denied
from core.store import approvals, outbox
from core.store.outbox import OutboxItem, OutboxKind, message_lookup
from core.store.runs import outcomes
from core.store.sessions import events
from tests.support.store_records import (
    ALICE,
    DENY,
    GROUP,
    MINUTE,
    ONCE,
    PAGE,
    SESSION,
    draft,
    new_id,
)
from tests.support.stores import OpenStore

_BOTH = ("telegram", "terminal")
CHIEF = Target("telegram", "77")


async def _claim(bench: OpenStore, *busy: Target) -> list[OutboxItem]:
    return list(await bench.store.write(outbox.claim, 10, 5_000, _BOTH, busy))


async def _get(bench: OpenStore, asked: ApprovalId) -> Approval:
    found = await bench.store.read(approvals.get, asked)
    assert found is not None
    return found


async def _reason(bench: OpenStore, asked: ApprovalId) -> DenialReason:
    outcome = await bench.store.read(outcomes.outcome, asked)
    assert isinstance(outcome, Denied)
    return outcome.reason


async def test_the_time_to_answer_starts_at_the_first_confirmed_copy(bench: OpenStore) -> None:
    """Fifty seconds in the queue cost no one's minute; a second copy moves nothing."""
    asked = await bench.ask(draft(targets=(GROUP, PAGE)))
    created = await _get(bench, asked)
    assert created.delivered_ms is None
    assert created.deadline_ms == created.created_ms + MINUTE
    first, second = await _claim(bench)
    await bench.advance(50_000)
    assert await bench.store.write(outbox.sent, first.id, "one")
    shown = await _get(bench, asked)
    assert shown.delivered_ms is not None
    assert shown.delivered_ms >= created.created_ms + 50_000
    assert shown.deadline_ms == shown.delivered_ms + MINUTE
    await bench.advance(5_000)
    await bench.store.write(outbox.sent, second.id, "two")
    assert await _get(bench, asked) == shown
    assert "deadline" in bench.notes


async def test_a_question_without_prompts_is_delivered_at_once(bench: OpenStore) -> None:
    """If people only look at the list, the time starts at the commit."""
    made = await _get(bench, await bench.ask(draft(targets=())))
    assert made.delivered_ms == made.created_ms
    assert made.deadline_ms == made.created_ms + MINUTE


async def test_nobody_was_reached_is_not_nobody_answered(bench: OpenStore) -> None:
    """The agent, the event and the resolution tell the two apart, by sweep and by late answer."""
    unseen, seen, late = [await bench.ask(draft(session=f"s{n}")) for n in range(3)]
    items = {item.approval_id: item for item in await _claim(bench)}
    await bench.store.write(outbox.sent, items[seen].id, "m")
    await bench.advance(MINUTE + 1000)
    told = await bench.store.write(approvals.answer, approvals.Ballot(late, ONCE, ALICE, None))
    assert told is not None
    assert not told.won
    assert set(await bench.store.write(approvals.expire_due)) == {unseen, seen}
    for asked, session, reason in (
        (unseen, "s0", DenialReason.UNDELIVERED),
        (seen, "s1", DenialReason.APPROVAL_TIMEOUT),
        (late, "s2", DenialReason.UNDELIVERED),
    ):
        resolution = (await _get(bench, asked)).resolution
        assert resolution is not None
        assert (resolution.state, resolution.reason) == (ApprovalState.EXPIRED, reason)
        assert await _reason(bench, asked) is reason
        (event,) = await bench.store.read(events.drain, SessionKey(session))
        assert event.text == f"Exec denied (node=gateway, id={asked}, {reason})"


async def test_a_copy_that_arrives_after_the_limit_changes_nothing(bench: OpenStore) -> None:
    """It is shown, ends edited, and does not bring the question back."""
    asked = await bench.ask()
    (item,) = await _claim(bench)
    await bench.advance(MINUTE + 1000)
    await bench.store.write(outbox.sent, item.id, "late")
    assert await bench.store.write(approvals.expire_due) == (asked,)
    (edit,) = await _claim(bench)
    assert (edit.kind, edit.message) == (OutboxKind.EDIT, "late")
    assert await _reason(bench, asked) is DenialReason.UNDELIVERED


async def test_two_replicas_confirm_the_clock_once(bench: OpenStore) -> None:
    """Two copies confirmed at the same moment start one clock."""
    for _ in range(8):
        asked = await bench.ask(draft(targets=(GROUP, PAGE)))
        one, two = await _claim(bench)
        await asyncio.gather(
            bench.store.write(outbox.sent, one.id, f"a{one.id}"),
            bench.store.write(outbox.sent, two.id, f"b{two.id}"),
        )
        shown = await _get(bench, asked)
        assert shown.delivered_ms is not None
        assert shown.deadline_ms == shown.delivered_ms + MINUTE


async def test_a_press_on_an_unrecorded_copy_starts_the_clock(bench: OpenStore) -> None:
    """A person who presses has seen it."""
    asked = await bench.ask()
    assert await bench.store.write(message_lookup.adopt, asked, GROUP, "lost")
    assert (await _get(bench, asked)).delivered_ms is not None


async def test_reminders_count_from_the_delivery(bench: OpenStore) -> None:
    """No one is reminded of what no one saw; both reminders of the plan come, then no more."""
    question = draft(timeout_ms=10 * MINUTE, reminders=(2 * MINUTE, 7 * MINUTE))
    asked = await bench.ask(question)
    await bench.advance(3 * MINUTE)
    assert await bench.store.write(approvals.remind_due) == 0
    await bench.send_all()
    shown = await _get(bench, asked)
    assert shown.delivered_ms is not None
    assert await bench.store.read(approvals.next_wake) == shown.delivered_ms + 2 * MINUTE
    for minutes in (2, 5):
        await bench.advance(minutes * MINUTE + 1000)
        assert await bench.store.write(approvals.remind_due) == 1
        (reminder,) = await bench.send_all("r")
        assert reminder.kind is OutboxKind.REMINDER
    assert await bench.store.read(approvals.next_wake) == shown.deadline_ms


async def test_the_ladder_is_climbed_in_time_also_over_a_restart(bench: OpenStore) -> None:
    """The second step waits its minutes from the first delivery, wherever the gateway is."""
    question = draft(timeout_ms=10 * MINUTE, ladder=((GROUP, 0), (CHIEF, 4 * MINUTE)))
    await bench.ask(question)
    await bench.advance(MINUTE)
    assert [item.target for item in await bench.send_all()] == [GROUP]
    await bench.advance(3 * MINUTE + 30_000)
    await (await bench.again()).write(outbox.reconcile)
    assert await bench.send_all() == []
    await bench.advance(MINUTE)
    assert [item.target for item in await bench.send_all()] == [CHIEF]


async def test_an_answer_ends_the_ladder(bench: OpenStore) -> None:
    """The next in line is never asked what is decided."""
    question = draft(timeout_ms=10 * MINUTE, ladder=((GROUP, 0), (CHIEF, 4 * MINUTE)))
    asked = await bench.ask(question)
    await bench.send_all()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    await bench.advance(5 * MINUTE)
    assert [item.kind for item in await bench.send_all()] == [OutboxKind.EDIT]
    assert await bench.store.read(outbox.next_due) is None


@pytest.mark.parametrize("given_up", [True, False])
async def test_the_next_step_takes_over_where_nothing_arrives(
    bench: OpenStore, given_up: bool
) -> None:
    """A refused place is skipped at once, one that keeps failing after 30 s; once per step."""
    ladder = ((GROUP, 0), (CHIEF, 4 * MINUTE), (PAGE, 8 * MINUTE))
    await bench.ask(draft(timeout_ms=12 * MINUTE, ladder=ladder))
    (item,) = await _claim(bench)
    if given_up:
        await bench.store.write(outbox.drop, item.id, "chat not found")
    else:
        await bench.store.write(outbox.retry, item.id, 20_000, False)
        assert await _claim(bench) == []
        await bench.advance(31_000)
        for _ in range(2):
            (item,) = await _claim(bench, CHIEF)
            await bench.store.write(outbox.retry, item.id, 0, False)
    (taken,) = await _claim(bench, GROUP)
    assert taken.target == CHIEF
    assert await bench.store.write(outbox.sent, taken.id, "shown")


async def test_a_failing_place_is_no_matter_once_a_copy_is_shown(bench: OpenStore) -> None:
    """The question was sent; the ladder keeps its times."""
    ladder = ((GROUP, 0), (CHIEF, 0), (PAGE, 8 * MINUTE))
    await bench.ask(draft(timeout_ms=12 * MINUTE, ladder=ladder))
    one, two = await _claim(bench)
    await bench.store.write(outbox.sent, one.id, "shown")
    await bench.store.write(outbox.drop, two.id, "chat not found")
    assert await _claim(bench) == []


async def test_nothing_left_to_send_ends_the_question_at_once(bench: OpenStore) -> None:
    """Both places refused: undelivered now, not after the minute; only one refused: not yet."""
    asked = await bench.ask(draft(targets=(GROUP, PAGE)))
    one, two = await _claim(bench)
    await bench.store.write(outbox.drop, one.id, "chat not found")
    assert await bench.store.write(approvals.expire_due) == ()
    bench.notes.clear()
    await bench.store.write(outbox.drop, two.id, "chat not found")
    assert "deadline" in bench.notes
    assert await bench.store.write(approvals.expire_due) == (asked,)
    assert await _reason(bench, asked) is DenialReason.UNDELIVERED


async def test_who_needs_no_prompt_may_still_answer(bench: OpenStore) -> None:
    """Every prompt was refused, but the list of this machine shows the question."""
    asked = await bench.ask(draft(local=True))
    (item,) = await _claim(bench)
    await bench.store.write(outbox.drop, item.id, "chat not found")
    assert await bench.store.write(approvals.expire_due) == ()
    answer = await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert answer is not None
    assert answer.won


async def test_a_busy_place_holds_up_nothing_else(bench: OpenStore) -> None:
    """What is for a busy place stays; everything else is handed out."""
    await bench.ask(draft(targets=(GROUP, PAGE, CHIEF)))
    assert {item.target for item in await _claim(bench, GROUP, PAGE)} == {CHIEF}
    assert {item.target for item in await _claim(bench)} == {GROUP, PAGE}


async def test_one_message_may_show_several_questions(bench: OpenStore) -> None:
    """Its members are shown in order, a bare reply to it means none of them, all are edited."""
    asked = [await bench.ask(draft(session=f"s{n}")) for n in range(3)]
    items = await _claim(bench)
    ids = tuple(item.id for item in items)
    assert await bench.store.write(outbox.sent_group, (*ids, 10_000), "burst") == 3
    read = bench.store.read
    assert await read(outbox.members, GROUP, "burst") == tuple(asked)
    assert await read(message_lookup.approval_of, GROUP, "burst") is None
    assert await read(outbox.members, CHIEF, "burst") == ()
    assert not await bench.store.write(message_lookup.adopt, asked[1], GROUP, "burst")
    assert all([(await _get(bench, one)).delivered_ms is not None for one in asked])
    for one in asked:
        await bench.store.write(approvals.answer, approvals.Ballot(one, DENY, ALICE, None))
    edits = await _claim(bench)
    assert [(edit.message, edit.approval_id) for edit in edits] == [("burst", one) for one in asked]


async def test_each_member_of_an_unrecorded_group_is_adopted(bench: OpenStore) -> None:
    """The gateway died before it recorded the message; each press restores its own question."""
    one, two = [await bench.ask(draft(session=f"s{n}")) for n in range(2)]
    for asked in (one, two):
        assert await bench.store.write(message_lookup.adopt, asked, GROUP, "lost")
        assert not await bench.store.write(message_lookup.adopt, asked, GROUP, "lost")
    assert await bench.store.read(outbox.members, GROUP, "lost") == (one, two)


async def test_groups_with_the_same_members_never_wait_for_each_other(bench: OpenStore) -> None:
    """Two groups of the same questions at two places, in opposite order, at the same moment."""
    for _ in range(6):
        for _ in range(3):
            await bench.ask(draft(targets=(GROUP, PAGE)))
        items = await _claim(bench)
        places = [[item.id for item in items if item.target == place] for place in (GROUP, PAGE)]
        known = await asyncio.gather(
            bench.store.write(outbox.sent_group, tuple(places[0]), new_id()),
            bench.store.write(outbox.sent_group, tuple(reversed(places[1])), new_id()),
        )
        assert list(known) == [3, 3]


async def test_a_claimed_prompt_can_move_into_a_thread(bench: OpenStore) -> None:
    """Its edit follows it there; what is not claimed, or not a prompt, stays."""
    thread = Target("telegram", "-1001", thread="99")
    asked = await bench.ask()
    (item,) = await _claim(bench)
    assert await bench.store.write(outbox.relocate, item.id, thread)
    await bench.store.write(outbox.sent, item.id, "m")
    assert not await bench.store.write(outbox.relocate, item.id, GROUP)
    await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    (edit,) = await _claim(bench)
    assert edit.target == thread
    assert await bench.store.read(outbox.asked_at, asked) == (thread,)
    assert len(await bench.store.read(events.drain, SESSION)) == 1

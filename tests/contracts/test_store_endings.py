"""State what every engine must do when an approval ends or falls due."""

from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import SessionKey
from core.model.result import Denied
from core.store import approvals, outbox
from core.store.runs import outcomes, runs
from core.store.sessions import events
from tests.support.store_records import (
    ALICE,
    ALWAYS,
    DENY,
    GROUP,
    MINUTE,
    ONCE,
    PAGE,
    SESSION,
    draft,
)
from tests.support.stores import OpenStore


async def test_a_late_allow_expires_the_approval(bench: OpenStore) -> None:
    """No sweep ran, and still an allow after the deadline is a denial."""
    asked = await bench.ask()
    await bench.send_all()
    await bench.advance(MINUTE + 1000)
    late = await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "tg:1"))
    assert late is not None
    assert not late.won
    assert late.approval.resolution is not None
    assert late.approval.resolution.state is ApprovalState.EXPIRED
    assert late.approval.resolution.by is None
    assert await bench.store.read(runs.queued, 10) == ()
    told = await bench.store.read(events.drain, SESSION)
    assert [event.text for event in told] == [
        f"Exec denied (node=gateway, id={asked}, approval_timeout)"
    ]


async def test_expire_due_ends_all_that_is_due_in_batches(bench: OpenStore) -> None:
    """Three due, one not; a batch of two, then the rest, then none."""
    due = {await bench.ask(draft(session=f"s{n}")) for n in range(3)}
    alive = await bench.ask(draft(timeout_ms=10 * MINUTE))
    await bench.advance(MINUTE + 1000)
    first = await bench.store.write(approvals.expire_due, 2)
    second = await bench.store.write(approvals.expire_due, 2)
    assert (len(first), len(second)) == (2, 1)
    assert {*first, *second} == due
    assert await bench.store.write(approvals.expire_due, 2) == ()
    assert [a.id for a in await bench.store.read(approvals.pending, 10)] == [alive]
    for session in range(3):
        assert len(await bench.store.read(events.drain, SessionKey(f"s{session}"))) == 1


async def test_nothing_expires_early(bench: OpenStore) -> None:
    """A second before the deadline the sweep finds nothing, and an allow wins."""
    asked = await bench.ask()
    await bench.advance(MINUTE - 2000)
    assert await bench.store.write(approvals.expire_due) == ()
    answer = await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert answer is not None
    assert answer.won


async def test_cancel_ends_a_pending_approval_only(bench: OpenStore) -> None:
    """Cancelling after an answer changes nothing and reports the answer."""
    asked, answered = await bench.ask(), await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(answered, DENY, ALICE, None))
    gone = await bench.store.write(approvals.cancel, asked, "the agent left")
    kept = await bench.store.write(approvals.cancel, answered, "the agent left")
    assert gone is not None
    assert kept is not None
    assert (gone.now, kept.now) == (True, False)
    assert gone.approval.resolution is not None
    assert kept.approval.resolution is not None
    assert gone.approval.resolution.state is ApprovalState.CANCELLED
    assert kept.approval.resolution.state is ApprovalState.DENIED
    outcome = await bench.store.read(outcomes.outcome, asked)
    assert outcome == Denied(asked, DenialReason.CANCELLED, "the agent left")


async def test_next_wake_is_the_earliest_deadline_or_reminder(bench: OpenStore) -> None:
    """It moves from the reminder to the deadline to nothing."""
    assert await bench.store.read(approvals.next_wake) is None
    question = draft(timeout_ms=10 * MINUTE, reminders=(5 * MINUTE,), targets=())
    made = (await bench.store.write(approvals.create, question)).approval
    assert await bench.store.read(approvals.next_wake) == made.created_ms + 5 * MINUTE
    await bench.advance(5 * MINUTE + 1000)
    await bench.store.write(approvals.remind_due, 10)
    assert await bench.store.read(approvals.next_wake) == made.deadline_ms
    await bench.store.write(approvals.cancel, question.id, "")
    assert await bench.store.read(approvals.next_wake) is None


async def test_half_time_reminds_once_for_each_shown_copy(bench: OpenStore) -> None:
    """Two copies were shown: two reminders, under the right messages, and never again."""
    question = draft(timeout_ms=10 * MINUTE, reminders=(5 * MINUTE,), targets=(GROUP, PAGE))
    await bench.ask(question)
    shown = await bench.send_all()
    await bench.advance(5 * MINUTE + 1000)
    assert await bench.store.write(approvals.remind_due, 10) == 1
    reminders = await bench.send_all("r")
    assert {(item.kind, item.target, item.message) for item in reminders} == {
        (outbox.OutboxKind.REMINDER, item.target, f"m{item.id}") for item in shown
    }
    await bench.advance(4 * MINUTE)
    assert await bench.store.write(approvals.remind_due, 10) == 0
    assert await bench.send_all() == []


async def test_allow_always_is_owed_until_it_is_remembered(bench: OpenStore) -> None:
    """A crash between the answer and the approvals file loses no pattern."""
    asked, once = await bench.ask(), await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ALWAYS, ALICE, None))
    await bench.store.write(approvals.answer, approvals.Ballot(once, ONCE, ALICE, None))
    store = await bench.again()
    assert [a.id for a in await store.read(approvals.unremembered, 10)] == [asked]
    await store.write(approvals.mark_remembered, asked)
    assert await store.read(approvals.unremembered, 10) == ()


async def test_a_fallback_is_final_at_creation(bench: OpenStore) -> None:
    """No one could be asked: allowed queues the run, denied tells the session no_route."""
    allowed, denied = draft(), draft(key="k3")
    write = bench.store.write
    settle = approvals.settle_unrouted
    yes = await write(settle, allowed, ApprovalState.ALLOWED, ONCE, "askFallback: full")
    no = await write(settle, denied, ApprovalState.DENIED, None, "no channel is reachable")
    again = await write(settle, draft(key="k3"), ApprovalState.ALLOWED, ONCE, "")
    assert yes.approval.resolution is not None
    assert yes.approval.resolution.state is ApprovalState.ALLOWED
    assert (no.fresh, again.fresh) == (True, False)
    assert again.approval == no.approval
    assert [run_id for run_id, _ in await bench.store.read(runs.queued, 9)] == [allowed.id]
    assert await bench.store.read(outcomes.outcome, denied.id) == Denied(
        denied.id, DenialReason.NO_ROUTE, "no channel is reachable"
    )
    assert await bench.store.write(outbox.claim, 10, 1000, ("telegram",)) == ()

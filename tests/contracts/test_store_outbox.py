"""State what every engine must do with the outbox and retention."""

import asyncio

import pytest

from core.model.identity import Target
from core.store import approvals, outbox, prune
from core.store.approvals import idempotency
from core.store.engine import replicas
from core.store.outbox import OutboxItem, OutboxKind
from core.store.runs import outcomes, runs
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
    finished,
    run_draft,
)
from tests.support.stores import OpenStore

_BOTH = ("telegram", "terminal")


async def _claim(bench: OpenStore, channels: tuple[str, ...] = _BOTH) -> list[OutboxItem]:
    return list(await bench.store.write(outbox.claim, 10, 5_000, channels))


async def test_a_prompt_is_claimed_once_by_its_own_channel(bench: OpenStore) -> None:
    """Six senders claim at the same time; each item goes to one of them."""
    await bench.ask(draft(targets=(GROUP, PAGE)))
    assert await _claim(bench, ("slack",)) == []
    claims = await asyncio.gather(*(_claim(bench) for _ in range(6)))
    items = [item for claimed in claims for item in claimed]
    assert {item.target for item in items} == {GROUP, PAGE}
    assert len(items) == 2
    assert all(item.kind is OutboxKind.PROMPT and item.attempts == 1 for item in items)


async def test_every_shown_copy_gets_its_edit(bench: OpenStore) -> None:
    """Two copies shown: two edits with their messages; done edits close the surfaces."""
    asked = await bench.ask(draft(targets=(GROUP, PAGE)))
    shown = await bench.send_all()
    assert await bench.store.read(outbox.open_surfaces) == 0
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert await bench.store.read(outbox.open_surfaces) == 2
    edits = await bench.send_all("ignored")
    assert {(edit.kind, edit.message, edit.target) for edit in edits} == {
        (OutboxKind.EDIT, f"m{item.id}", item.target) for item in shown
    }
    assert await bench.store.read(outbox.open_surfaces) == 0
    assert await _claim(bench) == []


async def test_a_prompt_sent_after_the_decision_is_edited(bench: OpenStore) -> None:
    """The decision fell while the platform was accepting the prompt."""
    asked = await bench.ask()
    (item,) = await _claim(bench)
    await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    assert await bench.store.write(outbox.sent, item.id, "late")
    assert await bench.store.read(outbox.open_surfaces) == 1
    (edit,) = await _claim(bench)
    assert (edit.kind, edit.message) == (OutboxKind.EDIT, "late")


async def test_an_unsent_prompt_of_an_ended_approval_is_dropped(bench: OpenStore) -> None:
    """Whether never claimed or given back: no one is asked what is already decided."""
    first, second = await bench.ask(), await bench.ask()
    claimed = {item.approval_id: item for item in await _claim(bench)}
    await bench.store.write(outbox.retry, claimed[first].id, 0, False)
    for asked in (first, second):
        await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    await bench.store.write(outbox.retry, claimed[second].id, 0, True)
    assert await _claim(bench) == []
    assert await bench.store.read(outbox.next_due) is None


async def test_retry_waits_and_counts(bench: OpenStore) -> None:
    """The delay is kept; the next claim says how often and whether it may have arrived."""
    await bench.ask(draft(timeout_ms=10 * MINUTE))
    (item,) = await _claim(bench)
    await bench.store.write(outbox.retry, item.id, 30_000, True)
    assert await _claim(bench) == []
    await bench.advance(31_000)
    (again,) = await _claim(bench)
    assert (again.id, again.attempts, again.uncertain) == (item.id, 2, True)


async def test_a_lapsed_claim_is_sent_again_but_a_notice_is_not(bench: OpenStore) -> None:
    """A lost question would be worse than two copies; a repeated notice is only noise."""
    await bench.ask(draft(timeout_ms=10 * MINUTE))
    write = bench.store.write
    assert await write(outbox.enqueue_notice, None, PAGE, "{}", "digest:1")
    assert not await write(outbox.enqueue_notice, None, PAGE, "{}", "digest:1")
    assert len(await _claim(bench)) == 2
    await bench.advance(6_000)
    (again,) = await _claim(bench)
    assert (again.kind, again.uncertain) == (OutboxKind.PROMPT, True)


async def test_two_sends_of_one_prompt_both_get_edited(bench: OpenStore) -> None:
    """The first sender was slow, not dead: both copies end in the true state."""
    asked = await bench.ask(draft(timeout_ms=10 * MINUTE))
    (item,) = await _claim(bench)
    await bench.advance(6_000)
    (again,) = await _claim(bench)
    assert again.id == item.id
    for message in ("one", "two", "two"):
        await bench.store.write(outbox.sent, item.id, message)
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert {edit.message for edit in await _claim(bench)} == {"one", "two"}


async def test_reconcile_frees_the_claims_of_a_dead_sender(bench: OpenStore) -> None:
    """After a restart a claimed prompt is due again, marked uncertain."""
    await bench.ask(draft(timeout_ms=10 * MINUTE))
    (item,) = await _claim(bench)
    store = await bench.again()
    if bench.engine == "postgres":  # another replica may still be sending: its claim must end
        await bench.advance(6_000)
    await store.write(outbox.reconcile)
    (again,) = await _claim(bench)
    assert (again.id, again.uncertain) == (item.id, True)


async def test_reconcile_leaves_living_claims_alone(bench: OpenStore) -> None:
    """Called at any time, it never takes work from this process's own senders."""
    await bench.ask()
    assert len(await _claim(bench)) == 1
    await bench.store.write(outbox.reconcile)
    assert await _claim(bench) == []


async def test_what_was_shown_in_a_process_that_ended_is_shown_again(bench: OpenStore) -> None:
    """Only of the named channels, and only what waits; the second showing has its edit as well."""
    asked, decided = [
        await bench.ask(draft(timeout_ms=10 * MINUTE, targets=(GROUP, PAGE))) for _ in range(2)
    ]
    await bench.send_all()
    await bench.store.write(approvals.answer, approvals.Ballot(decided, DENY, ALICE, None))
    await bench.send_all()
    store = await bench.again()

    await store.write(outbox.reconcile)
    assert await _claim(bench) == []
    await store.write(outbox.reconcile, ("terminal",))

    (again,) = await _claim(bench)
    assert (again.approval_id, again.kind, again.target) == (asked, OutboxKind.PROMPT, PAGE)
    assert await store.write(outbox.sent, again.id, "drawn again")
    await store.write(outbox.reconcile, ("terminal",))
    assert await _claim(bench) == []  # this process shows it
    await store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    edits = {edit.target: edit.message for edit in await _claim(bench)}
    assert (set(edits), edits[PAGE]) == ({GROUP, PAGE}, "drawn again")


async def test_a_question_that_ends_before_it_is_shown_again_is_not(bench: OpenStore) -> None:
    """No one is asked what is decided, in no state of the restart."""
    asked = await bench.ask(draft(timeout_ms=10 * MINUTE, targets=(PAGE,)))
    await bench.send_all()
    store = await bench.again()
    await store.write(outbox.reconcile, ("terminal",))
    await store.write(approvals.cancel, asked, "")
    assert await _claim(bench) == []
    assert await store.read(outbox.next_due) is None


async def test_a_dropped_edit_closes_its_surface(bench: OpenStore) -> None:
    """The message was deleted at the platform: nothing is left to edit."""
    asked = await bench.ask()
    await bench.send_all()
    await bench.store.write(approvals.cancel, asked, "")
    (edit,) = await _claim(bench)
    await bench.store.write(outbox.drop, edit.id, "message was deleted")
    assert await bench.store.read(outbox.open_surfaces) == 0
    assert await bench.store.read(outbox.next_due) is None


async def test_decision_and_send_at_the_same_moment_leave_no_stale_copy(bench: OpenStore) -> None:
    """Whichever commits first, each shown copy has its edit."""
    for _ in range(12):
        asked = await bench.ask()
        (item,) = await _claim(bench)
        await asyncio.gather(
            bench.store.write(outbox.sent, item.id, f"m{item.id}"),
            bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None)),
        )
        (edit,) = await _claim(bench)
        assert (edit.kind, edit.message) == (OutboxKind.EDIT, f"m{item.id}")
        await bench.store.write(outbox.sent, edit.id, "")


async def test_targets_and_payloads_survive(bench: OpenStore) -> None:
    """All four parts of a target and any JSON text are returned unchanged."""
    target = Target("terminal", "tty", "acc", "thread")
    await bench.store.write(outbox.enqueue_notice, None, target, '{"t": "\\u0000é"}', "n")
    (item,) = await _claim(bench)
    assert (item.target, item.payload, item.approval_id) == (target, '{"t": "\\u0000é"}', None)


async def test_replicas_live_as_long_as_they_beat(bench: OpenStore) -> None:
    """A beat extends, silence ends, leaving ends at once."""
    await bench.store.write(replicas.heartbeat, "a", 2_000)
    await bench.store.write(replicas.heartbeat, "b", 60_000)
    assert set(await bench.store.read(replicas.alive)) == {"a", "b"}
    await bench.advance(3_000)
    assert set(await bench.store.read(replicas.alive)) == {"b"}
    await bench.store.write(replicas.leave, "b")
    assert await bench.store.read(replicas.alive) == ()


@pytest.mark.parametrize("acked", [0, 99])
async def test_retention_forgets_only_what_is_over(bench: OpenStore, acked: int) -> None:
    """Pending, queued, owed, shown-but-unedited and unacknowledged things stay."""
    write, read = bench.store.write, bench.store.read
    pending, queued, shown, over = [
        await bench.ask(draft(timeout_ms=99 * MINUTE, key=f"k{n}", targets=())) for n in range(4)
    ]
    await write(approvals.answer, approvals.Ballot(queued, ONCE, ALICE, "in:1"))
    await write(approvals.answer, approvals.Ballot(over, DENY, ALICE, "in:2"))
    copy = await bench.ask(draft(timeout_ms=99 * MINUTE))
    await bench.send_all()
    await write(approvals.answer, approvals.Ballot(copy, DENY, ALICE, None))
    run = run_draft()
    await write(runs.begin, run)
    await write(runs.finish, run.id, finished(run.id))
    await write(events.ack, SESSION, acked)
    await bench.advance(30 * MINUTE)
    now = (await write(approvals.create, draft())).approval.created_ms
    forgotten = 0
    while gone := await write(prune, now - MINUTE, 1):
        forgotten += gone
    assert await read(approvals.get, over) is None
    assert await read(idempotency.by_request_key, "k3") is None
    assert await read(outcomes.outcome, run.id) is None
    for kept in (pending, queued, copy, shown):
        assert await read(approvals.get, kept) is not None
    told = await read(events.drain, SESSION)
    assert [event.seq for event in told] == ([] if acked else [1, 2, 3, 4])
    assert forgotten == (2 + 4 if acked else 2)

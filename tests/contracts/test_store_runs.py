"""State what every engine must do with runs and session events."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, text

from core.errors import Conflict
from core.model.decision import DenialReason
from core.model.events import EventKind
from core.model.identity import ApprovalId, SessionKey
from core.model.policy import ExecHost
from core.model.result import Denied, Finished, Output, Unknown
from core.store import approvals
from core.store.approvals import idempotency
from core.store.engine import replicas
from core.store.runs import outcomes, recovery, runs
from core.store.schema.records import OrphanedRun, RunDraft
from core.store.schema.states import RowState
from core.store.sessions import events
from tests.support.store_records import ALICE, ONCE, SESSION, draft, finished, new_id, run_draft
from tests.support.stores import OpenStore


async def test_an_allowed_run_tells_its_start_and_end(bench: OpenStore) -> None:
    """Begin, running once, finish once; the texts are the seeds'."""
    run = run_draft()
    write = bench.store.write
    assert await write(runs.begin, run)
    assert await bench.store.read(outcomes.outcome, run.id) is None
    assert await write(runs.running, run.id, 10)
    assert not await write(runs.running, run.id, 20)
    assert await write(runs.finish, run.id, finished(run.id, 3), "boot-1")
    assert not await write(runs.finish, run.id, finished(run.id, 0))
    told = await bench.store.read(events.drain, SESSION)
    place = f"node=gateway, id={run.id}"
    assert [event.text for event in told] == [
        f"Exec started ({place})",
        f"Exec running ({place}, 10s)",
        f"Exec finished ({place}, code=3)\ndone\n",
    ]
    assert [event.seq for event in told] == [1, 2, 3]
    assert await bench.store.read(outcomes.outcome, run.id) == finished(run.id, 3)
    assert {f"run:{run.id}", f"session:{SESSION}"} <= set(bench.notes)


async def test_an_id_or_a_request_key_begins_once(bench: OpenStore) -> None:
    """The second begin is refused, whoever asks."""
    run = run_draft(key="k")
    assert await bench.store.write(runs.begin, run)
    assert not await bench.store.write(runs.begin, run_draft(run.id))
    assert not await bench.store.write(runs.begin, run_draft(key="k"))
    assert await bench.store.read(idempotency.by_request_key, "k") == run.id
    assert len(await bench.store.read(events.drain, SESSION)) == 1


async def test_a_key_is_bound_to_what_was_asked_under_it(bench: OpenStore) -> None:
    """Of a run, a denial and a question: the same request finds it, another one is a conflict."""
    run, denied = (
        run_draft(key="ran", request_digest="one"),
        run_draft(key="denied", request_digest="one"),
    )
    asked = draft(key="asked", request_digest="one")
    assert await bench.store.write(runs.begin, run)
    no = DenialReason.ALLOWLIST_MISS
    assert await bench.store.write(runs.record_denied, denied, no, "")
    await bench.store.write(approvals.create, asked)
    for key, made in (("ran", run), ("denied", denied), ("asked", asked)):
        assert await bench.store.read(idempotency.by_request_key, key, "one") == made.id
        with pytest.raises(Conflict, match=made.id):
            await bench.store.read(idempotency.by_request_key, key, "other")
    with pytest.raises(Conflict, match="Use a new key"):
        await bench.store.write(approvals.create, draft(key="asked", request_digest="other"))
    assert not (
        await bench.store.write(approvals.create, draft(key="asked", request_digest="one"))
    ).fresh


async def test_an_approved_run_starts_once(bench: OpenStore) -> None:
    """Of two owners that claim at the same time, one may start."""
    asked = await bench.ask()
    assert not await bench.store.write(runs.start, asked, "boot-1")
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    claims = await asyncio.gather(
        *(bench.store.write(runs.start, asked, f"boot-{n}") for n in range(6))
    )
    assert sorted(claims) == [False] * 5 + [True]
    assert await bench.store.read(runs.queued, 10) == ()
    started = await bench.store.read(events.drain, SESSION)
    assert [event.kind for event in started] == [EventKind.STARTED]


async def test_only_its_owner_finishes_a_run(bench: OpenStore) -> None:
    """A result from another boot is refused."""
    run = run_draft(owner="boot-1")
    await bench.store.write(runs.begin, run)
    assert not await bench.store.write(runs.finish, run.id, finished(run.id), "boot-2")
    assert await bench.store.write(runs.finish, run.id, finished(run.id), "boot-1")


async def test_a_run_that_never_spawned_is_refused_once(bench: OpenStore) -> None:
    """Queued or claimed, but not once a process is known."""
    asked = await bench.ask()
    write = bench.store.write
    await write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert await write(runs.refuse, asked, DenialReason.PLAN_DRIFT, "git was replaced")
    assert not await write(runs.refuse, asked, DenialReason.PLAN_DRIFT, "git was replaced")
    assert not await write(runs.start, asked, "boot-1")
    assert await bench.store.read(outcomes.outcome, asked) == Denied(
        asked, DenialReason.PLAN_DRIFT, "git was replaced"
    )
    run = run_draft()
    await write(runs.begin, run)
    await write(runs.identify, run.id, 10, 10, 5, "boot")
    assert not await write(runs.refuse, run.id, DenialReason.SPAWN_FAILED, "")


async def test_a_policy_denial_is_recorded_and_told(bench: OpenStore) -> None:
    """The row, the event and the history say why."""
    run = run_draft(key="k")
    why = "rm is forbidden"
    write = bench.store.write
    assert await write(runs.record_denied, run, DenialReason.SECURITY_DENY, why)
    assert not await write(runs.record_denied, run, DenialReason.SECURITY_DENY, why)
    assert not await write(runs.begin, run)
    assert await bench.store.read(outcomes.outcome, run.id) == Denied(
        run.id, DenialReason.SECURITY_DENY, why
    )
    rows = await bench.store.read(approvals.history, 5)
    assert [(row.state, row.reason) for row in rows] == [
        (RowState.DENIED, DenialReason.SECURITY_DENY)
    ]


async def test_recovery_names_the_runs_of_the_dead_once(bench: OpenStore) -> None:
    """Unknown, one event, the process's identity; living and ended ones are left alone."""
    write = bench.store.write
    await write(replicas.heartbeat, "dead", 1_000)
    lost, over, mine = run_draft(owner="dead"), run_draft(owner="dead"), run_draft(owner="me")
    for run in (lost, over, mine):
        await write(runs.begin, run)
    await write(runs.identify, lost.id, 11, 12, 13, "kernel-boot")
    await write(runs.finish, over.id, finished(over.id))
    await bench.advance(5_000)
    expected = OrphanedRun(lost.id, 11, 12, 13, "kernel-boot")
    assert await write(recovery.recover, "me") == (expected,)
    assert await write(recovery.recover, "me") == ()
    assert await bench.store.read(outcomes.outcome, lost.id) == Unknown(lost.id)
    assert not await write(runs.finish, lost.id, finished(lost.id))
    told = [event.text for event in await bench.store.read(events.drain, SESSION)]
    assert told.count(f"Exec finished (node=gateway, id={lost.id}, code=unknown)") == 1
    assert sum(lost.id in text for text in told) == 2


async def test_a_queued_run_survives_recovery(bench: OpenStore) -> None:
    """An approval answered before the crash may still run, once."""
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    store = await bench.again()
    assert await store.write(recovery.recover, "next") == ()
    assert [run_id for run_id, _ in await store.read(runs.queued, 5)] == [asked]


async def test_output_that_no_database_can_hold_is_kept_readable(bench: OpenStore) -> None:
    """NUL and lone surrogates become U+FFFD; the event's tail is the last 20,000 characters."""
    run = run_draft()
    await bench.store.write(runs.begin, run)
    text = "a\0b\udc80" + "x" * 30_000
    await bench.store.write(
        runs.finish, run.id, Finished(run.id, None, 9, Output(text, text, 5, truncated=True), 5)
    )
    outcome = await bench.store.read(outcomes.outcome, run.id)
    assert isinstance(outcome, Finished)
    assert outcome.output.text == "a\ufffdb\ufffd" + "x" * 30_000
    event = (await bench.store.read(events.drain, SESSION))[-1]
    head, _, tail = event.text.partition("\n")
    assert head.endswith("code=signal 9)")
    assert tail == "… (truncated)\n" + "x" * (20_000 - len("… (truncated)\n"))


@pytest.mark.parametrize(
    ("end", "code"),
    [
        ({"exit_code": 3, "signal": None}, "code=3)"),
        ({"exit_code": None, "signal": 15}, "code=signal 15)"),
        (
            {"exit_code": None, "signal": 15, "timed_out": True},
            "code=signal 15, stopped at its time limit)",
        ),
        ({"exit_code": 0, "signal": None, "timed_out": True}, "code=0, stopped at its time limit)"),
        ({"exit_code": None, "signal": 15, "cancelled": True}, "code=signal 15, cancelled)"),
        ({"exit_code": 0, "signal": None, "drift": "x changed"}, "code=0, plan_drift)"),
        ({"exit_code": None, "signal": None}, "code=unknown)"),
    ],
)
async def test_the_event_says_what_ended_a_run(
    bench: OpenStore, end: dict[str, Any], code: str
) -> None:
    """The code first, then what else ended it; short output is whole and has no mark."""
    run = run_draft()
    await bench.store.write(runs.begin, run)
    result = Finished(run.id, output=Output("all", "all", 3), duration_ms=5, **end)
    await bench.store.write(runs.finish, run.id, result)
    event = (await bench.store.read(events.drain, SESSION))[-1]

    assert event.text.endswith(f"{code}\nall")


@pytest.mark.parametrize("size", [20_000, 20_001])
async def test_a_tail_that_begins_in_the_middle_is_marked(bench: OpenStore, size: int) -> None:
    """What fits is whole; else the first line is the mark, and all of it is 20,000 characters."""
    run, text = run_draft(), "x" * size
    await bench.store.write(runs.begin, run)
    output = Output(text, text[-20_000:], size)
    await bench.store.write(runs.finish, run.id, Finished(run.id, 0, None, output, 5))
    tail = (await bench.store.read(events.drain, SESSION))[-1].text.partition("\n")[2]

    assert 20_000 == len(tail)
    assert tail.startswith("… (truncated)\nx") is (size > 20_000)


async def test_events_come_again_until_acknowledged(bench: OpenStore) -> None:
    """The mark only rises, never beyond the last event, and another session is another count."""
    for _ in range(4):
        await bench.store.write(runs.begin, run_draft())
    await bench.store.write(runs.begin, run_draft(session="other"))
    read, write = bench.store.read, bench.store.write
    assert [e.seq for e in await read(events.drain, SESSION)] == [1, 2, 3, 4]
    assert [e.seq for e in await read(events.drain, SESSION, 2, 1)] == [2, 3]
    assert await write(events.ack, SESSION, 3) == 3
    assert await write(events.ack, SESSION, 1) == 3
    assert [e.seq for e in await read(events.drain, SESSION)] == [4]
    assert await write(events.ack, SESSION, 99) == 4
    await write(runs.begin, run_draft())
    assert [e.seq for e in await read(events.drain, SESSION)] == [5]
    assert [e.seq for e in await read(events.drain, SessionKey("other"))] == [1]
    assert await write(events.ack, SessionKey("nobody"), 5) == 0
    assert await read(events.drain, SessionKey("nobody")) == ()


async def test_eight_writers_leave_no_gap_in_one_session(bench: OpenStore) -> None:
    """A reader that follows its own mark in the meantime sees every number once, in order."""
    seen: list[int] = []

    async def write_some() -> None:
        for _ in range(10):
            await bench.store.write(runs.begin, run_draft(session="busy"))

    async def follow() -> None:
        while len(seen) < 80:
            last = seen[-1] if seen else 0
            told = await bench.store.read(events.drain, SessionKey("busy"), 100, last)
            seen.extend(event.seq for event in told)

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(follow())
        for _ in range(8):
            group.create_task(write_some())
    assert seen == list(range(1, 81))


@pytest.mark.parametrize("gone", [False, True])
async def test_finishing_never_resurrects(bench: OpenStore, gone: bool) -> None:
    """A denied approval has no run to start, finish or refuse."""
    asked = await bench.ask(draft())
    if gone:
        await bench.store.write(approvals.cancel, asked, "")
    write = bench.store.write
    assert not await write(runs.start, asked, "boot-1")
    assert not await write(runs.finish, asked, finished(asked))
    assert not await write(runs.refuse, new_id(), DenialReason.PLAN_DRIFT, "")


async def test_a_result_takes_the_place_of_an_unknown_end(bench: OpenStore) -> None:
    """Its own gateway saw the end; another's report, and a second one, changes nothing."""
    run = run_draft(owner="first")
    await bench.store.write(runs.begin, run)
    await bench.store.write(runs.running, run.id, 10)
    assert await bench.store.write(as_unknown, run.id)
    result = Finished(run.id, 3, None, Output("x", "x", 1), 5)

    assert not await bench.store.write(runs.finish, run.id, result, "second")
    assert not await bench.store.write(runs.finish, run.id, result)
    assert await bench.store.write(runs.finish, run.id, result, "first")
    assert not await bench.store.write(runs.finish, run.id, result, "first")
    assert await bench.store.read(outcomes.outcome, run.id) == result


async def test_a_claim_in_doubt_is_given_up_only_if_it_was_taken(bench: OpenStore) -> None:
    """A run that this boot claimed ends as never spawned; another's, or a queued one, stays."""
    reason, why = DenialReason.SPAWN_FAILED, "The database failed."
    mine, other = run_draft(owner="me"), run_draft(owner="other")
    await bench.store.write(runs.begin, mine)
    await bench.store.write(runs.begin, other)
    queued = await allowed(bench)

    assert await bench.store.write(runs.abandon, mine.id, reason, why, "me")
    assert not await bench.store.write(runs.abandon, other.id, reason, why, "me")
    assert not await bench.store.write(runs.abandon, queued, reason, why, "me")
    assert not await bench.store.write(runs.abandon, new_id(), reason, why, "me")
    assert await bench.store.read(outcomes.outcome, mine.id) == Denied(mine.id, reason, why)
    assert await bench.store.read(outcomes.outcome, other.id) is None
    assert await bench.store.write(runs.start, queued, "me")


async def test_a_run_that_somebody_else_claimed_is_not_refused(bench: OpenStore) -> None:
    """A gateway that finds that a queued run cannot start ends it; not once another started it."""
    reason, why = DenialReason.PLAN_DRIFT, "git was replaced"
    queued, started = await allowed(bench), await allowed(bench)
    assert await bench.store.write(runs.start, started, "other")

    assert await bench.store.write(runs.refuse, queued, reason, why, "me")
    assert not await bench.store.write(runs.refuse, started, reason, why, "me")


async def test_the_key_of_a_claim_that_was_given_up_is_free(bench: OpenStore) -> None:
    """A retry under the same key runs; a run that was otherwise refused keeps its key."""
    reason, why = DenialReason.SPAWN_FAILED, "The database failed."
    doubted, refused = run_draft(key="one"), run_draft(key="two")
    for run in (doubted, refused):
        await bench.store.write(runs.begin, run)
    await bench.store.write(runs.abandon, doubted.id, reason, why, doubted.owner)
    await bench.store.write(runs.refuse, refused.id, reason, why, refused.owner)

    assert await bench.store.write(runs.begin, run_draft(key="one"))
    assert not await bench.store.write(runs.begin, run_draft(key="two"))


async def test_interrupted_are_started_and_unknown_runs_of_others(bench: OpenStore) -> None:
    """Neither one's own nor what has a result is among them."""
    mine, ended, theirs, lost = (run_draft(owner=one) for one in ("me", "a", "a", "b"))
    for run in (mine, ended, theirs, lost):
        await bench.store.write(runs.begin, run)
    await bench.store.write(runs.finish, ended.id, finished(ended.id), "a")
    await bench.store.write(as_unknown, lost.id)

    found = await bench.store.read(recovery.interrupted, "me", 0)
    recent = await bench.store.read(recovery.interrupted, "me", found[0].started_ms + 60_000)

    assert {(run.id, run.owner) for run in found} == {(theirs.id, "a"), (lost.id, "b")}
    assert {run.id for run in recent} == {theirs.id}


async def allowed(bench: OpenStore) -> ApprovalId:
    """Have a person allow a question; its run waits for a gateway."""
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    return asked


def as_unknown(conn: Connection, run_id: ApprovalId) -> bool:
    """End a run as recovery does when its gateway has been without the database for long."""
    found = conn.execute(
        text("UPDATE runs SET state = 'unknown' WHERE id = :id RETURNING id"), {"id": run_id}
    )
    return found.first() is not None


async def _on_node(bench: OpenStore) -> RunDraft:
    run = run_draft()
    there = replace(run, plan=replace(run.plan, host=ExecHost.NODE, node="ab" * 32))
    assert await bench.store.write(runs.begin, there)
    return there


async def _kinds(bench: OpenStore) -> list[EventKind]:
    return [event.kind for event in await bench.store.read(events.drain, SESSION)]


async def test_a_nodes_run_starts_when_the_node_reported_it(bench: OpenStore) -> None:
    """Claimed is not started there; it is reported once, and only then that it takes long."""
    run = await _on_node(bench)
    assert await _kinds(bench) == []
    assert not await bench.store.write(runs.running, run.id, 10)
    assert await bench.store.write(runs.reported, run.id)
    assert not await bench.store.write(runs.reported, run.id)
    assert await bench.store.write(runs.running, run.id, 10)
    assert not await bench.store.write(runs.running, run.id, 10)
    assert await bench.store.write(runs.finish, run.id, finished(run.id))
    assert not await bench.store.write(runs.reported, run.id)
    assert await _kinds(bench) == [EventKind.STARTED, EventKind.RUNNING, EventKind.FINISHED]


async def test_a_lost_report_of_a_start_is_made_up_for(bench: OpenStore) -> None:
    """It ended, so it had started; a run of this machine reports nothing twice."""
    run = await _on_node(bench)
    assert await bench.store.write(runs.finish, run.id, finished(run.id))
    assert await _kinds(bench) == [EventKind.STARTED, EventKind.FINISHED]

    here = run_draft()
    assert await bench.store.write(runs.begin, here)
    assert not await bench.store.write(runs.reported, here.id)
    assert await bench.store.write(runs.finish, here.id, finished(here.id))
    assert (await _kinds(bench))[2:] == [EventKind.STARTED, EventKind.FINISHED]

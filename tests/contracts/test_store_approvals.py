"""State what every engine must do with approvals."""

import asyncio
from dataclasses import replace

import pytest

from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied, Finished, Output
from core.store import approvals, outbox
from core.store.approvals import history_rows, idempotency
from core.store.runs import outcomes, runs
from core.store.schema.records import HistoryRow
from core.store.sessions import events
from core.store.views import references
from tests.support.store_records import (
    ALICE,
    ALWAYS,
    BOB,
    DENY,
    MINUTE,
    ONCE,
    SESSION,
    draft,
    new_id,
    run_draft,
)
from tests.support.stores import OpenStore


async def test_what_is_created_is_what_is_read_back(bench: OpenStore) -> None:
    """Plan, evaluation, requester and origin survive the round trip exactly."""
    question = draft(timeout_ms=5 * MINUTE)
    made = await bench.store.write(approvals.create, question)
    read = await bench.store.read(approvals.get, question.id)
    assert made.fresh
    assert made.approval == read
    assert read is not None
    assert (read.plan, read.evaluation) == (question.plan, question.evaluation)
    assert (read.requester, read.origin) == (question.requester, question.origin)
    assert read.deadline_ms == read.created_ms + 5 * MINUTE
    assert read.resolution is None


async def test_a_known_request_key_returns_its_approval(bench: OpenStore) -> None:
    """The same request twice is one approval with one prompt."""
    first = await bench.store.write(approvals.create, draft(key="k1"))
    second = await bench.store.write(approvals.create, draft(key="k1"))
    assert (second.fresh, second.approval) == (False, first.approval)
    assert len(await bench.store.write(outbox.claim, 10, 1000, ("telegram",))) == 1
    assert await bench.store.read(idempotency.by_request_key, "k1") == first.approval.id


async def test_a_taken_code_is_refused_and_leaves_nothing(bench: OpenStore) -> None:
    """Two ids with the same first six characters never exist at the same time."""
    first = await bench.ask()
    twin = ApprovalId(first[:6] + new_id()[6:])
    with pytest.raises(approvals.CodeTaken):
        await bench.store.write(approvals.create, draft(twin, key="k2"))
    assert await bench.store.read(approvals.get, twin) is None
    assert await bench.store.read(idempotency.by_request_key, "k2") is None


@pytest.mark.parametrize("reply", [ONCE, ALWAYS, DENY])
async def test_the_first_answer_wins_and_the_second_is_told_who_did(
    bench: OpenStore, reply: str
) -> None:
    """One winner; the loser sees the true state, person and reply."""
    asked = await bench.ask()
    first = approvals.Ballot(asked, _reply(reply), ALICE, "tg:1", "because")
    second = approvals.Ballot(asked, DENY if reply != DENY else ONCE, BOB, "tg:2")
    won = await bench.store.write(approvals.answer, first)
    lost = await bench.store.write(approvals.answer, second)
    assert won is not None
    assert lost is not None
    assert (won.won, won.repeated, lost.won, lost.repeated) == (True, False, False, False)
    assert lost.approval == won.approval
    ended = lost.approval.resolution
    assert ended is not None
    assert (ended.by, ended.reply, ended.note) == (ALICE, reply, "because")
    assert ended.state is (ApprovalState.DENIED if reply == DENY else ApprovalState.ALLOWED)


async def test_the_same_inbound_message_gets_the_same_answer(bench: OpenStore) -> None:
    """A redelivered update is told again whether it won."""
    asked = await bench.ask()
    write = bench.store.write
    await write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "tg:1"))
    await write(approvals.answer, approvals.Ballot(asked, DENY, BOB, "tg:2"))
    again = await write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, "tg:1"))
    loser = await write(approvals.answer, approvals.Ballot(asked, DENY, BOB, "tg:2"))
    assert again is not None
    assert loser is not None
    assert (again.won, again.repeated) == (True, True)
    assert (loser.won, loser.repeated) == (False, True)


async def test_an_unknown_id_has_no_answer(bench: OpenStore) -> None:
    """Nothing is invented for an id that was never made."""
    assert (
        await bench.store.write(approvals.answer, approvals.Ballot(new_id(), ONCE, ALICE, "tg:9"))
        is None
    )
    assert await bench.store.write(approvals.cancel, new_id(), "gone") is None


async def test_allow_queues_exactly_one_run(bench: OpenStore) -> None:
    """The run carries the plan that was approved."""
    asked = await bench.ask(draft(text="git push origin"))
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    queued = await bench.store.read(runs.queued, 10)
    assert [run_id for run_id, _ in queued] == [asked]
    assert queued[0][1].text == "git push origin"


async def test_deny_tells_the_session_and_the_asker(bench: OpenStore) -> None:
    """The event and the outcome carry the person's words."""
    asked = await bench.ask()
    await bench.store.write(
        approvals.answer, approvals.Ballot(asked, DENY, ALICE, None, "not today")
    )
    told = await bench.store.read(events.drain, SESSION)
    assert told[0].text == f"Exec denied (node=gateway, id={asked}, approver_denied: not today)"
    assert await bench.store.read(outcomes.outcome, asked) == Denied(
        asked, DenialReason.APPROVER_DENIED, "Alice denied it: not today"
    )


async def test_find_reads_what_people_type(bench: OpenStore) -> None:
    """Id, code in any case with look-alikes, prefix among the pending; never three characters."""
    asked = await bench.ask(draft(ApprovalId("10a0bc" + new_id()[6:])))
    other = await bench.ask(draft(ApprovalId("10a0bd" + new_id()[6:])))
    ended = await bench.ask(draft(ApprovalId("10a0be" + new_id()[6:])))
    await bench.store.write(approvals.cancel, ended, "")
    for words, expected in {
        asked: {asked},
        asked.upper(): {asked},
        "10A0BC": {asked},
        " lOaObc ": {asked},
        "IoAobE": {ended},
        "10a0": {asked, other},
        asked[:9]: {asked},
        ended[:9]: set(),
        "10a": set(),
        "zzzzzz": set(),
        "%": set(),
        "": set(),
    }.items():
        found = await bench.store.read(approvals.find, words)
        assert {approval.id for approval in found} == expected, words


async def test_pending_pages_by_the_soonest_deadline(bench: OpenStore) -> None:
    """Pages never overlap and never skip."""
    asked = [await bench.ask(draft(timeout_ms=MINUTE * (9 - n // 2))) for n in range(6)]
    seen: list[ApprovalId] = []
    while page := await bench.store.read(approvals.pending, 2, seen[-1] if seen else None):
        seen.extend(approval.id for approval in page)
    assert sorted(seen) == sorted(asked)
    deadlines = [(await _get(bench, one)).deadline_ms for one in seen]
    assert deadlines == sorted(deadlines)


async def test_wake_ups_come_after_the_commit_and_only_for_what_changed(bench: OpenStore) -> None:
    """A listener is told of creation and decision; a failed operation wakes no one."""
    asked = await bench.ask()
    assert {f"approval:{asked}", "outbox", "deadline"} <= set(bench.notes)
    bench.notes.clear()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None))
    assert {f"approval:{asked}", f"run:{asked}"} <= set(bench.notes)
    bench.notes.clear()
    with pytest.raises(approvals.CodeTaken):
        await bench.ask(draft(ApprovalId(asked[:6] + new_id()[6:])))
    await asyncio.sleep(0)
    assert bench.notes == []


async def test_history_lists_the_newest_first(bench: OpenStore) -> None:
    """Asked and unasked alike, filtered by agent and time."""
    asked = await bench.ask()
    await bench.store.write(approvals.answer, approvals.Ballot(asked, DENY, ALICE, None))
    await bench.advance(2000)
    second = await bench.ask()
    rows = await bench.store.read(approvals.history, 10)
    assert [row.id for row in rows] == [second, asked]
    assert (rows[1].by, rows[1].state, rows[1].reason) == (
        ALICE,
        ApprovalState.DENIED,
        DenialReason.APPROVER_DENIED,
    )
    older = await bench.store.read(approvals.history, 10, rows[0].at_ms)
    assert [row.id for row in older] == [asked]
    assert await bench.store.read(approvals.history, 10, None, "nobody") == ()


@pytest.mark.parametrize("page", [1, 2, 500])
async def test_a_search_finds_each_row_once(
    bench: OpenStore, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the pages are, even if several rows are of one millisecond."""
    monkeypatch.setattr(history_rows, "_PAGE", page)
    made = [run_draft() for _ in range(3)]
    for one in made:
        await bench.store.write(runs.begin, one)
    await bench.advance(2000)
    asked = await bench.ask()
    every = {one.id for one in made}

    def wanted(row: HistoryRow) -> bool:
        return row.id in every

    found = await bench.store.read(approvals.search, wanted, 10)
    assert sorted(row.id for row in found) == sorted(every)
    assert len(await bench.store.read(approvals.search, wanted, 2)) == 2
    newest = await bench.store.read(approvals.search, lambda _: True, 1)
    assert [row.id for row in newest] == [asked]
    recent = await bench.store.read(approvals.history, 10, None, None, newest[0].at_ms)
    assert [row.id for row in recent] == [asked]


async def test_the_past_of_a_code_and_of_the_start_of_an_id(bench: OpenStore) -> None:
    """Of what was asked and of what was not; what matches nothing is empty."""
    going, asked = run_draft(), await bench.ask()
    await bench.store.write(runs.begin, going)
    for ref, meant in ((asked[:6].upper(), asked), (going.id[:8], going.id), (asked, asked)):
        (row,) = await bench.store.read(references.past, ref)
        assert row.id == meant
    assert await bench.store.read(references.past, "zzzzzz") == ()


async def test_the_history_says_how_far_an_answer_goes(bench: OpenStore) -> None:
    """Once, always, or with limits."""
    asked = await bench.ask()
    terms = GrantTerms(for_ms=60_000)
    await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ALWAYS, ALICE, None, "", terms)
    )
    (row,) = await bench.store.read(approvals.history, 10)
    assert (row.reply, row.terms) == (ALWAYS, terms)


async def test_history_knows_how_runs_ended(bench: OpenStore) -> None:
    """Code, signal, time limit, cancellation and time; the output is left out."""
    said = Output("x", "x", 1)
    ends = [
        Finished(new_id(), 3, None, said, 5),
        Finished(new_id(), None, 9, said, 6),
        Finished(new_id(), None, 15, said, 7, timed_out=True),
        Finished(new_id(), 0, None, said, 8, cancelled=True),
    ]
    for end in ends:
        await bench.store.write(runs.begin, run_draft(end.run_id))
        await bench.store.write(runs.finish, end.run_id, end)
    going = run_draft()
    await bench.store.write(runs.begin, going)
    rows = {row.id: row.end for row in await bench.store.read(approvals.history, 10)}
    quiet = {end.run_id: replace(end, output=Output()) for end in ends}
    assert rows == {**quiet, going.id: None}


def _reply(words: str) -> ApprovalReply:
    return ApprovalReply(words)


async def _get(bench: OpenStore, approval_id: ApprovalId) -> Approval:
    found = await bench.store.read(approvals.get, approval_id)
    assert found is not None
    return found

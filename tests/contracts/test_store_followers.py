"""State what every engine must do with identical questions: one is asked, no allow-once shared."""

import asyncio
from dataclasses import replace

import pytest

from core.model.approval import Approval, ApprovalState, GrantTerms, Resolution
from core.model.decision import DenialReason
from core.model.identity import Actor, ApprovalId, Intake, Requester, SessionKey
from core.store import approvals, outbox
from core.store.outbox import OutboxItem
from core.store.runs import runs
from core.store.schema.records import AnswerRefusal, ApprovalDraft, StoredAnswer
from core.store.sessions import events
from tests.support.store_records import (
    ALICE,
    ALWAYS,
    ASKER,
    BOB,
    DENY,
    GROUP,
    MINUTE,
    ONCE,
    PAGE,
    SESSION,
    draft,
    evaluation,
)
from tests.support.stores import OpenStore

SAME = "ab" * 32


OTHER, THIRD, OUTSIDE = (88, 5), (99, 6), (11, 7)
"""Kernel sessions: two that ask the same as ``ASKER``, and one that asks nothing."""
HERE = Actor("terminal", "uid:1000", "Ana")


def _alike(timeout_ms: int = MINUTE) -> ApprovalDraft:
    return draft(digest=SAME, timeout_ms=timeout_ms)


async def _three(bench: OpenStore) -> list[ApprovalId]:
    """Ask the same three times, each a moment later; the leader comes first."""
    asked = []
    for _ in range(3):
        asked.append(await bench.ask(_alike()))
        await bench.advance(5)
    return asked


async def _get(bench: OpenStore, asked: ApprovalId) -> Approval:
    found = await bench.store.read(approvals.get, asked)
    assert found is not None
    return found


async def _end_of(bench: OpenStore, asked: ApprovalId) -> Resolution:
    ended = (await _get(bench, asked)).resolution
    assert ended is not None
    return ended


async def _claim(bench: OpenStore) -> list[OutboxItem]:
    return list(await bench.store.write(outbox.claim, 10, 5_000, ("telegram", "terminal")))


async def test_identical_questions_are_asked_once(bench: OpenStore) -> None:
    """One prompt goes out; it knows how many wait, and all have its clock."""
    leader, second, third = await _three(bench)
    assert [item.approval_id for item in await bench.send_all()] == [leader]
    first = await _get(bench, leader)
    assert (first.behind, first.asked) == (None, 3)
    for follower in (second, third):
        waiting = await _get(bench, follower)
        assert (waiting.behind, waiting.asked) == (leader, 1)
        assert waiting.delivered_ms == first.delivered_ms
        assert waiting.deadline_ms == first.deadline_ms


@pytest.mark.parametrize(
    "other",
    [
        draft(digest="cd" * 32),
        replace(_alike(), requester=Requester(Intake.CHAT, "telegram:42")),
        replace(_alike(), requester=replace(ASKER, account=f"{ASKER.account}1")),
        replace(_alike(), evaluation=evaluation("/usr/bin/git")),
        replace(_alike(), quorum=2),
        replace(_alike(), step_up=True),
    ],
    ids=["plan", "requester", "account", "verdict", "quorum", "step-up"],
)
async def test_what_differs_is_asked_by_itself(bench: OpenStore, other: ApprovalDraft) -> None:
    """An answer must not count for another command, requester, promise or number of people."""
    leader = await bench.ask(_alike())
    assert await bench.ask(other) == other.id
    assert {item.approval_id for item in await _claim(bench)} == {leader, other.id}
    assert (await _get(bench, other.id)).behind is None


async def test_a_denial_holds_for_all_who_asked(bench: OpenStore) -> None:
    """Same person, same words, each agent told; nothing more is sent."""
    asked = await _three(bench)
    await bench.send_all()
    await bench.store.write(
        approvals.answer, approvals.Ballot(asked[0], DENY, ALICE, None, "not today")
    )
    for one in asked:
        ended = await _end_of(bench, one)
        assert (ended.state, ended.by, ended.note) == (ApprovalState.DENIED, ALICE, "not today")
        assert ended.reason is DenialReason.APPROVER_DENIED
    assert await bench.store.read(approvals.ended_with, asked[0]) == tuple(asked[1:])
    told = await bench.store.read(events.drain, SESSION)
    assert {event.run_id for event in told} == set(asked)
    assert {item.kind for item in await bench.send_all()} == {outbox.OutboxKind.EDIT}


async def test_an_allow_once_is_never_shared(bench: OpenStore) -> None:
    """One run for one press; the next of them is asked again, with its own clock."""
    leader, second, third = await _three(bench)
    await bench.send_all()
    await bench.advance(50_000)
    await bench.store.write(approvals.answer, approvals.Ballot(leader, ONCE, ALICE, None))
    assert [run_id for run_id, _ in await bench.store.read(runs.queued, 9)] == [leader]
    asked = await _get(bench, second)
    assert (asked.resolution, asked.behind, asked.delivered_ms) == (None, None, None)
    assert asked.asked == 2
    assert (await _get(bench, third)).behind == second
    prompts = [item for item in await _claim(bench) if item.kind is outbox.OutboxKind.PROMPT]
    assert [(item.approval_id, item.target) for item in prompts] == [(second, GROUP)]
    await bench.store.write(outbox.sent, prompts[0].id, "again")
    shown = await _get(bench, second)
    assert shown.delivered_ms is not None
    assert shown.deadline_ms == shown.delivered_ms + MINUTE
    assert (await _get(bench, third)).deadline_ms == shown.deadline_ms


async def test_allow_always_lets_all_of_them_run(bench: OpenStore) -> None:
    """It would let them run a moment later anyway; the approvals file gets it once."""
    asked = await _three(bench)
    await bench.send_all()
    await bench.store.write(approvals.answer, approvals.Ballot(asked[0], ALWAYS, ALICE, None))
    assert {run_id for run_id, _ in await bench.store.read(runs.queued, 9)} == set(asked)
    owed = await bench.store.read(approvals.unremembered, 9)
    assert [approval.id for approval in owed] == [asked[0]]


@pytest.mark.parametrize(
    ("terms", "runs_now"), [(GrantTerms(for_ms=MINUTE), 3), (GrantTerms(uses=2), 1)]
)
async def test_a_grant_with_uses_is_not_stretched(
    bench: OpenStore, terms: GrantTerms, runs_now: int
) -> None:
    """A grant for a time covers all of them; one with a number of uses is used by asking."""
    leader, *_ = await _three(bench)
    await bench.send_all()
    ballot = approvals.Ballot(leader, ALWAYS, ALICE, None, terms=terms)
    await bench.store.write(approvals.answer, ballot)
    assert len(await bench.store.read(runs.queued, 9)) == runs_now


async def test_a_cancelled_leader_leaves_the_question_to_the_next(bench: OpenStore) -> None:
    """One agent went away; the other still asks."""
    leader, second, third = await _three(bench)
    await bench.send_all()
    await bench.store.write(approvals.cancel, leader, "gone")
    assert (await _get(bench, second)).behind is None
    assert (await _get(bench, third)).behind == second
    kinds = {(item.kind, item.approval_id) for item in await _claim(bench)}
    assert kinds == {(outbox.OutboxKind.EDIT, leader), (outbox.OutboxKind.PROMPT, second)}


@pytest.mark.parametrize("delivered", [True, False])
async def test_all_expire_together(bench: OpenStore, delivered: bool) -> None:
    """No one answered the one prompt, or no one got it: that applies to all."""
    asked = await _three(bench)
    if delivered:
        await bench.send_all()
    await bench.advance(MINUTE + 1000)
    assert set(await bench.store.write(approvals.expire_due)) == set(asked)
    reason = DenialReason.APPROVAL_TIMEOUT if delivered else DenialReason.UNDELIVERED
    for one in asked:
        ended = await _end_of(bench, one)
        assert (ended.state, ended.reason) == (ApprovalState.EXPIRED, reason)
    assert await bench.store.read(approvals.next_wake) is None


async def test_a_follower_can_be_answered_by_its_code(bench: OpenStore) -> None:
    """Only that one ends; its leader is still asked, and decides for the others."""
    leader, second, third = await _three(bench)
    answer = await bench.store.write(approvals.answer, approvals.Ballot(second, ONCE, BOB, None))
    assert answer is not None
    assert answer.won
    await bench.store.write(approvals.answer, approvals.Ballot(leader, DENY, ALICE, None))
    assert await bench.store.read(approvals.ended_with, leader) == (third,)


async def test_a_promoted_question_climbs_its_own_ladder(bench: OpenStore) -> None:
    """It has all steps, counted from when it is asked."""
    steps = ((GROUP, 0), (PAGE, MINUTE))
    leader, second = [
        await bench.ask(draft(digest=SAME, timeout_ms=2 * MINUTE, ladder=steps)) for _ in range(2)
    ]
    await bench.send_all()
    await bench.store.write(approvals.answer, approvals.Ballot(leader, ONCE, ALICE, None))
    places = []
    for _ in range(2):
        sent = await bench.send_all()
        places += [item.target for item in sent if item.approval_id == second]
        await bench.advance(MINUTE + 1000)
    assert places == [GROUP, PAGE]


async def test_nothing_is_left_behind_a_question_that_ends(bench: OpenStore) -> None:
    """Asked again at the moment of the answer: it is denied with it, or asked on its own."""
    for round_number in range(12):
        question = replace(_alike(), plan=replace(_alike().plan, digest=f"{round_number:064d}"))
        leader = await bench.ask(question)
        again = replace(question, id=_alike().id)
        await asyncio.gather(
            bench.store.write(approvals.create, again),
            bench.store.write(approvals.answer, approvals.Ballot(leader, DENY, ALICE, None)),
        )
        late = await _get(bench, again.id)
        assert late.resolution is not None or late.behind is None


async def test_answers_to_leader_and_follower_at_the_same_moment(bench: OpenStore) -> None:
    """Whoever is first, each question ends once, and each event is reported once."""
    for round_number in range(8):
        session = f"s{round_number}"
        question = draft(digest=f"{round_number:064x}", session=session)
        leader = await bench.ask(question)
        follower = await bench.ask(replace(question, id=_alike().id))
        await asyncio.gather(
            bench.store.write(approvals.answer, approvals.Ballot(leader, DENY, ALICE, None)),
            bench.store.write(approvals.answer, approvals.Ballot(follower, DENY, BOB, None)),
        )
        told = await bench.store.read(events.drain, SessionKey(session))
        assert sorted(event.run_id for event in told) == sorted([leader, follower])


def _from(process: tuple[int, int] | None, quorum: int = 1) -> ApprovalDraft:
    """Return the same question, asked in a kernel session."""
    return replace(_alike(), requester=replace(ASKER, process=process), quorum=quorum)


async def _answer(
    bench: OpenStore, asked: ApprovalId, process: tuple[int, int] | None, actor: Actor = HERE
) -> StoredAnswer:
    got = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ALWAYS, actor, None, process=process)
    )
    assert got is not None
    return got


async def test_retries_from_kernel_sessions_of_their_own_are_asked_once(bench: OpenStore) -> None:
    """Agents start each call in a new one; each question keeps who asked it."""
    asked = [await bench.ask(_from(process)) for process in (ASKER.process, OTHER, None)]
    assert [item.approval_id for item in await bench.send_all()] == [asked[0]]
    seen = [await _get(bench, one) for one in asked]
    assert [one.behind for one in seen] == [None, asked[0], asked[0]]
    assert [one.requester.process for one in seen] == [ASKER.process, OTHER, None]


async def test_whoever_asked_one_of_them_answers_none(bench: OpenStore) -> None:
    """The first not by one that waits behind it, nor the other way round; others decide for all."""
    asked = [await bench.ask(_from(process)) for process in (ASKER.process, OTHER, THIRD)]
    for one in asked:
        for process in (ASKER.process, OTHER, THIRD):
            got = await _answer(bench, one, process)
            assert (got.refused, got.won) == (AnswerRefusal.REQUESTER, False)
    assert (await _answer(bench, asked[0], OUTSIDE)).won
    ends = [await _end_of(bench, one) for one in asked]
    assert [end.state for end in ends] == [ApprovalState.ALLOWED] * 3


async def test_who_asked_something_else_may_answer(bench: OpenStore) -> None:
    """A kernel session is kept from what it asked itself, and from nothing else that waits."""
    asked = await bench.ask(_from(ASKER.process))
    other = await bench.ask(replace(draft(), requester=replace(ASKER, process=OTHER)))
    assert (await _answer(bench, asked, ASKER.process)).refused is AnswerRefusal.REQUESTER
    assert (await _answer(bench, other, OTHER)).refused is AnswerRefusal.REQUESTER
    assert (await _answer(bench, asked, OTHER)).won
    assert (await _answer(bench, other, ASKER.process)).won


async def test_an_unknown_kernel_session_among_them_is_everybodys(bench: OpenStore) -> None:
    """If one of the requesters cannot be identified, no local answer counts; one in a chat does."""
    leader = await bench.ask(_from(ASKER.process))
    await bench.ask(_from(None))
    assert (await _answer(bench, leader, OUTSIDE)).refused is AnswerRefusal.REQUESTER
    assert (await _answer(bench, leader, None, ALICE)).won


async def test_what_was_asked_in_a_chat_is_answered_here(bench: OpenStore) -> None:
    """A requester there has no kernel session; only the account identifies it."""
    chat = Requester(Intake.CHAT, "telegram:43")
    asked = await bench.ask(replace(_alike(), requester=chat))
    assert (await _answer(bench, asked, OUTSIDE)).won


async def test_whoever_has_voted_asks_by_itself(bench: OpenStore) -> None:
    """Otherwise a vote would count for a request that the voter makes afterwards."""
    leader = await bench.ask(_from(ASKER.process, quorum=2))
    again = await bench.ask(_from(OTHER, quorum=2))
    assert (await _answer(bench, again, THIRD)).counted
    await bench.advance(5)
    late = await bench.ask(_from(THIRD, quorum=2))
    later = await bench.ask(_from(OUTSIDE, quorum=2))
    own = await bench.ask(_from(ASKER.process, quorum=2))
    behind = [(await _get(bench, one)).behind for one in (late, later, own)]
    assert behind == [None, late, leader]
    assert (await _answer(bench, later, THIRD)).refused is AnswerRefusal.REQUESTER


async def test_asking_and_answering_in_the_same_moment(bench: OpenStore) -> None:
    """Whichever comes first, no one's own question ends by their own answer."""
    for round_number in range(12):
        plan = replace(_alike().plan, digest=f"{round_number:064d}")
        leader = await bench.ask(replace(_from(ASKER.process), plan=plan))
        own = replace(_from(OTHER), plan=plan)
        _, got = await asyncio.gather(
            bench.store.write(approvals.create, own), _answer(bench, leader, OTHER)
        )
        assert (await _get(bench, own.id)).resolution is None
        assert got.won or got.refused is AnswerRefusal.REQUESTER

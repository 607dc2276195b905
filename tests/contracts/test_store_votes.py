"""State what every engine must do if several people must allow."""

from dataclasses import replace

import pytest

from core.model.approval import HALF_HOUR, THIS_SESSION, ApprovalReply, ApprovalState, GrantTerms
from core.model.identity import Actor, ApprovalId, Intake, PersonId, Requester
from core.store import approvals, outbox
from core.store.people import people
from core.store.runs import runs
from core.store.schema.records import AnswerRefusal, StoredAnswer
from tests.contracts.people_records import ANA_SLACK, pair
from tests.support.store_records import ALICE, ALWAYS, BOB, DENY, GROUP, MINUTE, ONCE, PAGE, draft
from tests.support.stores import OpenStore

CYD = Actor("discord", "9", "Cyd")


async def ask(bench: OpenStore, quorum: int = 2, requester: Requester | None = None) -> ApprovalId:
    """Ask a question that several people must allow."""
    question = replace(draft(targets=(GROUP, PAGE)), quorum=quorum)
    if requester is not None:
        question = replace(question, requester=requester)
    return await bench.ask(question)


async def say(
    bench: OpenStore,
    asked: ApprovalId,
    actor: Actor,
    reply: ApprovalReply = ONCE,
    key: str | None = None,
    terms: GrantTerms | None = None,
) -> StoredAnswer:
    """Answer as a person."""
    got = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, reply, actor, key, "", terms)
    )
    assert got is not None
    return got


async def test_two_people_must_allow(bench: OpenStore) -> None:
    """The first allow counts, the second decides, and the run is queued only then."""
    asked = await ask(bench)

    first = await say(bench, asked, ALICE)
    queued = await bench.store.read(runs.queued, 10)
    second = await say(bench, asked, BOB)

    assert (False, True, None) == (first.won, first.counted, first.approval.resolution)
    assert ["telegram:42"] == [vote.person for vote in first.approval.votes]
    assert () == queued
    assert (True, False) == (second.won, second.counted)
    assert second.approval.resolution is not None
    assert (BOB, ONCE) == (second.approval.resolution.by, second.approval.resolution.reply)
    assert [ALICE, BOB] == [vote.by for vote in second.approval.votes]
    assert [asked] == [run_id for run_id, _ in await bench.store.read(runs.queued, 10)]


async def test_two_accounts_of_one_person_are_one_vote(bench: OpenStore) -> None:
    """Also if they are linked after both have voted."""
    asked, later = await ask(bench), await ask(bench, quorum=3)
    await say(bench, later, ALICE)
    before = await say(bench, later, ANA_SLACK)
    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)

    await say(bench, asked, ALICE)
    again = await say(bench, asked, ANA_SLACK)
    after = await say(bench, later, BOB)

    assert again.counted
    assert ["ana"] == [vote.person for vote in again.approval.votes]
    assert [2, 2] == [len(before.approval.votes), len(after.approval.votes)]
    assert after.approval.resolution is None


async def test_one_deny_ends_it(bench: OpenStore) -> None:
    """Whoever allowed before, a single deny decides."""
    asked = await ask(bench, quorum=3)
    await say(bench, asked, ALICE)

    denied = await say(bench, asked, BOB, DENY)

    assert denied.won
    assert denied.approval.resolution is not None
    assert ApprovalState.DENIED is denied.approval.resolution.state


@pytest.mark.parametrize(
    ("said", "reply", "terms"),
    [
        (((ONCE, None), (ONCE, None)), ONCE, None),
        (((ALWAYS, None), (ALWAYS, None)), ALWAYS, None),
        (((ALWAYS, None), (ONCE, None)), ONCE, None),
        (((ONCE, None), (ALWAYS, HALF_HOUR)), ONCE, None),
        (((ALWAYS, HALF_HOUR), (ALWAYS, None)), ALWAYS, HALF_HOUR),
        (((ALWAYS, HALF_HOUR), (ALWAYS, GrantTerms())), ALWAYS, HALF_HOUR),
        (
            ((ALWAYS, HALF_HOUR), (ALWAYS, THIS_SESSION)),
            ALWAYS,
            GrantTerms(for_ms=1_800_000, session_only=True),
        ),
        (
            ((ALWAYS, GrantTerms(for_ms=5, uses=3)), (ALWAYS, GrantTerms(for_ms=9, uses=2))),
            ALWAYS,
            GrantTerms(for_ms=5, uses=2),
        ),
    ],
)
async def test_the_narrowest_allow_holds(
    bench: OpenStore,
    said: tuple[tuple[ApprovalReply, GrantTerms | None], ...],
    reply: ApprovalReply,
    terms: GrantTerms | None,
) -> None:
    """Once before limited before always; limits add up."""
    asked = await ask(bench)
    for actor, (wanted, limits) in zip((ALICE, BOB), said, strict=True):
        got = await say(bench, asked, actor, wanted, terms=limits)

    assert got.won
    assert got.approval.resolution is not None
    assert (reply, terms) == (got.approval.resolution.reply, got.approval.resolution.terms)


async def test_the_last_vote_of_a_person_counts(bench: OpenStore) -> None:
    """A person who changes from always to once has one vote: once."""
    asked = await ask(bench)
    await say(bench, asked, ALICE, ALWAYS)
    again = await say(bench, asked, ALICE, ONCE)
    decided = await say(bench, asked, BOB, ALWAYS)

    assert [ONCE] == [vote.reply for vote in again.approval.votes]
    assert decided.approval.resolution is not None
    assert ONCE is decided.approval.resolution.reply


async def test_a_redelivered_vote_is_told_the_same_and_replaces_nothing(bench: OpenStore) -> None:
    """The first message comes again after the person said otherwise, and after the end."""
    asked = await ask(bench)
    first = await say(bench, asked, ALICE, ALWAYS, "k1")
    await say(bench, asked, ALICE, ONCE, "k2")
    again = await say(bench, asked, ALICE, ALWAYS, "k1")
    won = await say(bench, asked, BOB, ALWAYS, "k3")
    late = await say(bench, asked, ALICE, ALWAYS, "k1")
    still = await say(bench, asked, BOB, ALWAYS, "k3")

    assert [(True, False), (True, True), (True, True)] == [
        (got.counted, got.repeated) for got in (first, again, late)
    ]
    assert [ONCE] == [vote.reply for vote in again.approval.votes]
    assert won.approval.resolution is not None
    assert ONCE is won.approval.resolution.reply
    assert [(True, False), (True, True)] == [(got.won, got.repeated) for got in (won, still)]


async def test_a_late_vote_ends_it_as_expired(bench: OpenStore) -> None:
    """The second person comes at the deadline: no one wins."""
    asked = await ask(bench)
    await say(bench, asked, ALICE)
    await bench.send_all()
    await bench.advance(10 * MINUTE)

    late = await say(bench, asked, BOB)

    assert (False, False) == (late.won, late.counted)
    assert late.approval.resolution is not None
    assert ApprovalState.EXPIRED is late.approval.resolution.state


async def test_a_revoked_persons_vote_counts_no_more(bench: OpenStore) -> None:
    """Revoked between the first and the second vote: two others must allow."""
    asked = await ask(bench)
    await say(bench, asked, ALICE)
    await bench.store.write(people.revoke, "telegram:42")

    mine = await say(bench, asked, ALICE, DENY)
    second = await say(bench, asked, BOB)
    third = await say(bench, asked, CYD)

    assert AnswerRefusal.REVOKED is mine.refused
    assert mine.approval.resolution is None
    assert [BOB] == [vote.by for vote in second.approval.votes]
    assert third.won
    assert {BOB, CYD} == {vote.by for vote in third.approval.votes}


@pytest.mark.parametrize("quorum", [1, 2])
async def test_a_revoked_person_decides_nothing(bench: OpenStore, quorum: int) -> None:
    """Neither allow nor deny, whether by person or by account."""
    asked = await ask(bench, quorum)
    await pair(bench, "ana", ALICE)
    for who in ("ana", "telegram:42"):
        await bench.store.write(people.revoke, who)
        for reply in (ONCE, ALWAYS, DENY):
            got = await say(bench, asked, ALICE, reply)
            assert AnswerRefusal.REVOKED is got.refused
            assert got.approval.resolution is None
        await bench.store.write(people.restore, who)

    assert (await say(bench, asked, ALICE, DENY)).won


@pytest.mark.parametrize("quorum", [1, 2])
async def test_the_requester_decides_on_no_linked_account(bench: OpenStore, quorum: int) -> None:
    """A requester in Telegram does not answer in Slack, and an earlier vote falls when linked."""
    asked = await ask(bench, quorum, Requester(Intake.CHAT, "telegram:42"))
    if quorum > 1:
        assert (await say(bench, asked, ANA_SLACK)).counted
    await pair(bench, "ana", ALICE)
    await pair(bench, "ana", ANA_SLACK)

    own = await say(bench, asked, ALICE)
    linked = await say(bench, asked, ANA_SLACK)
    other = await say(bench, asked, BOB)

    assert AnswerRefusal.REQUESTER is own.refused is linked.refused
    assert (quorum == 1, quorum > 1) == (other.won, other.counted)


async def test_somebody_else_than_was_authorised_is_refused(bench: OpenStore) -> None:
    """An account that changed hands between the check and the transaction is checked again."""
    asked = await ask(bench, 1)
    wrong = PersonId("ana")

    got = await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ONCE, ALICE, None, "", None, wrong)
    )

    assert got is not None
    assert AnswerRefusal.CHANGED is got.refused
    assert got.approval.resolution is None


async def test_a_counted_vote_is_told_where_the_prompt_is_shown(bench: OpenStore) -> None:
    """One notice per person and place, however often that person votes."""
    asked = await ask(bench, 3)
    await bench.send_all()
    await say(bench, asked, ALICE)
    await say(bench, asked, ALICE, ALWAYS)
    await say(bench, asked, BOB)

    items = await bench.send_all()

    notices = [item for item in items if item.kind is outbox.OutboxKind.NOTICE]
    assert {GROUP, PAGE} == {item.target for item in notices}
    assert 4 == len(notices)
    assert any("Alice (telegram) allowed" in item.payload for item in notices)
    assert any("2 of 3 people; one more is needed" in item.payload for item in notices)

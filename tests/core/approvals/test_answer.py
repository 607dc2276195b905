"""Check who may answer, and the truth about the result, on a real store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.approvals.answer import Answer, Answered, Answering, AnswerOutcome
from core.approvals.routing.approvers import Approvers
from core.model.approval import HALF_HOUR, ApprovalReply, ApprovalState
from core.model.identity import Actor, AgentId, ApprovalId, Intake, Requester
from core.model.stdio import Stdio
from core.store import Store, approvals, open_store
from core.store.people import pairing, people
from core.text.stdin_preview import LONGEST_INPUT
from core.trust.sealing import SEALING_KEY, Seals
from tests.support.store_records import ALICE, ALWAYS, BOB, DENY, ONCE, draft, evaluation

ANA_SLACK = Actor("slack", "U1", "Ana")
NAMED = Approvers({}, frozenset({"person:ana"}))


@asynccontextmanager
async def answering(
    folder: Path,
    listed: Approvers,
    *,
    requester: Requester | None = None,
    promise: bool = True,
    stdin: bytes | None = None,
    step_up: bool = False,
) -> AsyncIterator[tuple[Store, Answering, ApprovalId]]:
    """Open a store with one question."""
    store = await open_store(f"sqlite:///{folder}/state.db")
    question = replace(draft(), quorum=listed.needed(AgentId("main")), step_up=step_up)
    if requester is not None:
        question = replace(question, requester=requester)
    if not promise:
        question = replace(question, evaluation=evaluation())
    if stdin is not None:
        plan = replace(question.plan, stdio=Stdio(stdin))
        question = replace(question, plan=plan)
    await store.write(approvals.create, question)
    try:
        yield store, Answering(store, listed, Seals(folder / SEALING_KEY)), question.id
    finally:
        await store.close()


async def link(store: Store, name: str, *actors: Actor) -> None:
    """Link accounts to a person."""
    await store.write(people.add, name)
    for actor in actors:
        drawn = await store.write(pairing.begin, name)
        assert drawn is not None
        await store.write(pairing.pair, drawn.code, actor)


async def test_a_named_person_answers_from_every_linked_account(tmp_path: Path) -> None:
    """Before the link the account is a stranger's, after it the person's."""
    async with answering(tmp_path, NAMED) as (store, people_may, asked):
        before = await people_may.answer(Answer(asked, ONCE, ANA_SLACK))
        await link(store, "ana", ALICE, ANA_SLACK)
        after = await people_may.answer(Answer(asked, ONCE, ANA_SLACK))

    assert AnswerOutcome.NOT_LISTED is before.outcome
    assert AnswerOutcome.ACCEPTED is after.outcome


async def test_a_group_counts_as_the_platform_says_now(tmp_path: Path) -> None:
    """Only while the press says that the person is in it."""
    listed = Approvers({"slack": frozenset({"group:S1"})})
    grouped = replace(ANA_SLACK, groups=frozenset({"group:S1"}))
    async with answering(tmp_path, listed) as (_, people_may, asked):
        out = await people_may.answer(Answer(asked, DENY, ANA_SLACK))
        inside = await people_may.answer(Answer(asked, DENY, grouped))

    assert [AnswerOutcome.NOT_LISTED, AnswerOutcome.ACCEPTED] == [out.outcome, inside.outcome]


async def test_two_people_must_allow_and_each_is_told(tmp_path: Path) -> None:
    """The first is told how many are needed, the second that it is allowed."""
    listed = Approvers({"telegram": frozenset({"42", "43"})}, quorum=2)
    async with answering(tmp_path, listed) as (_, people_may, asked):
        first = await people_may.answer(Answer(asked, ALWAYS, ALICE, "k1"))
        again = await people_may.answer(Answer(asked, ALWAYS, ALICE, "k1"))
        second = await people_may.answer(Answer(asked, ALWAYS, BOB, "k2", terms=HALF_HOUR))
        late = await people_may.answer(Answer(asked, ALWAYS, ALICE, "k1"))

    code = asked[:6].upper()
    assert AnswerOutcome.COUNTED is first.outcome is again.outcome is late.outcome
    assert f"Counted: 1 of 2 people have allowed {code}; one more is needed." == first.sentence
    assert first.sentence == again.sentence
    assert (AnswerOutcome.ACCEPTED, f"Allowed for 30 minutes: {code}.") == (
        second.outcome,
        second.sentence,
    )
    assert "was allowed for 30 minutes by Bob (telegram)" in late.sentence


@pytest.mark.parametrize(
    ("now", "counts"),
    [
        ({"telegram": frozenset({"43"})}, False),
        ({"telegram": frozenset({"42", "43"})}, True),
        ({"telegram": frozenset({"43", "role:7"})}, True),
        ({"telegram": frozenset({"43"}), "slack": frozenset({"group:S1"})}, False),
    ],
    ids=["taken off", "control", "a role that it may have had", "a group of another channel"],
)
async def test_the_vote_of_who_is_no_longer_listed_does_not_count(
    tmp_path: Path, now: dict[str, frozenset[str]], *, counts: bool
) -> None:
    """Alice allows, a reload takes her off the list, and Bob allows: one person is too few."""
    before = Approvers({"telegram": frozenset({"42", "43"})}, quorum=2)
    async with answering(tmp_path, before) as (store, people_may, asked):
        await people_may.answer(Answer(asked, ONCE, ALICE, "k1"))
        reloaded = Answering(store, Approvers(now, quorum=2), Seals(tmp_path / SEALING_KEY))
        second = await reloaded.answer(Answer(asked, ONCE, BOB, "k2"))
        found = await store.read(approvals.get, asked)

    assert second.outcome is (AnswerOutcome.ACCEPTED if counts else AnswerOutcome.COUNTED)
    assert found is not None
    assert [one.by.account for one in found.votes] == (["42", "43"] if counts else ["43"])


async def test_a_redelivered_loser_is_told_that_it_lost(tmp_path: Path) -> None:
    """The same message again gets the same answer, also for the person who came second."""
    listed = Approvers({"telegram": frozenset({"42", "43"})})
    async with answering(tmp_path, listed) as (_, people_may, asked):
        await people_may.answer(Answer(asked, ONCE, ALICE, "k1"))
        lost = [await people_may.answer(Answer(asked, DENY, BOB, "k2")) for _ in range(2)]

    assert [AnswerOutcome.ALREADY_ENDED] * 2 == [one.outcome for one in lost]
    assert lost[0].sentence == lost[1].sentence


async def test_the_requester_and_the_revoked_are_refused(tmp_path: Path) -> None:
    """A person who asked in Slack is refused in Telegram too; a revoked person is told why."""
    listed = Approvers({"telegram": frozenset({"42", "43"})})
    asker = Requester(Intake.CHAT, "slack:U1")
    async with answering(tmp_path, listed, requester=asker) as (store, people_may, asked):
        await link(store, "ana", ALICE, ANA_SLACK)
        own = await people_may.answer(Answer(asked, ONCE, ALICE))
        await store.write(people.revoke, "telegram:43")
        revoked = await people_may.answer(Answer(asked, ONCE, BOB))
        still = await store.read(approvals.get, asked)

    assert [AnswerOutcome.REQUESTER, AnswerOutcome.REVOKED] == [own.outcome, revoked.outcome]
    assert "people restore" in revoked.sentence
    assert still is not None
    assert still.resolution is None


async def test_an_offer_changes_nothing(tmp_path: Path) -> None:
    """A person who could answer so is told yes; a stranger, and an ended question, why not."""
    listed = Approvers({"telegram": frozenset({"42"})})
    async with answering(tmp_path, listed) as (store, people_may, asked):
        wish = Answer(asked, ApprovalReply.ALLOW_ALWAYS, ALICE)
        offered = await people_may.offer(wish)
        stranger = await people_may.offer(replace(wish, actor=BOB))
        unknown = await people_may.offer(replace(wish, ref="zzzzzz"))
        untouched = await store.read(approvals.get, asked)
        await people_may.answer(replace(wish, reply=DENY))
        ended = await people_may.offer(wish)

    assert offered == Answered(AnswerOutcome.OFFERED, "", untouched)
    assert untouched is not None
    assert untouched.resolution is None
    assert [AnswerOutcome.NOT_LISTED, AnswerOutcome.UNKNOWN, AnswerOutcome.ALREADY_ENDED] == [
        one.outcome for one in (stranger, unknown, ended)
    ]


async def test_limits_do_not_make_an_always_possible(tmp_path: Path) -> None:
    """If nothing safe could be stored, no grant is given either."""
    listed = Approvers({"telegram": frozenset({"42"})})
    async with answering(tmp_path, listed, promise=False) as (_, people_may, asked):
        got = await people_may.answer(Answer(asked, ALWAYS, ALICE, terms=HALF_HOUR))

    assert AnswerOutcome.NOT_OFFERED is got.outcome


async def test_what_was_shown_to_nobody_is_allowed_by_nobody(tmp_path: Path) -> None:
    """Input beyond the bound is on no surface: typed words allow it no more than buttons do."""
    listed = Approvers({"telegram": frozenset({"42"})})
    outcomes = {}
    for size in (LONGEST_INPUT, LONGEST_INPUT + 1):
        folder = tmp_path / str(size)
        folder.mkdir()
        async with answering(folder, listed, stdin=b"x" * size) as (store, people_may, asked):
            offered = await people_may.offer(Answer(asked, ONCE, ALICE))
            got = [
                await people_may.answer(Answer(asked, reply, ALICE))
                for reply in (ALWAYS, ONCE, DENY)
            ]
            kept = await store.read(approvals.get, asked)
        assert kept is not None
        assert kept.resolution is not None
        outcomes[size] = (offered.outcome, *(one.outcome for one in got), kept.resolution.state)

    accepted, ended = AnswerOutcome.ACCEPTED, AnswerOutcome.ALREADY_ENDED
    refused, denied = AnswerOutcome.NOT_OFFERED, ApprovalState.DENIED
    assert outcomes == {
        LONGEST_INPUT: (AnswerOutcome.OFFERED, accepted, ended, ended, ApprovalState.ALLOWED),
        LONGEST_INPUT + 1: (refused, refused, refused, accepted, denied),
    }


async def test_whoever_asked_the_same_answers_neither(tmp_path: Path) -> None:
    """An answer may end both, so none of their kernel sessions counts; another one does."""
    listed = Approvers({"terminal": frozenset({"uid:1000"})})
    here = Actor("terminal", "uid:1000", "Ana")
    async with answering(tmp_path, listed) as (store, people_may, first):
        question = await store.read(approvals.get, first)
        assert question is not None
        asker = replace(question.requester, process=(88, 5))
        second = replace(draft(), plan=question.plan, requester=asker)
        await store.write(approvals.create, second)
        refused = [
            await people_may.answer(Answer(ref, ONCE, here, process=process))
            for ref in (first, second.id)
            for process in (question.requester.process, asker.process)
        ]
        offered = await people_may.offer(Answer(first, ONCE, here, process=asker.process))
        other = await people_may.answer(Answer(first, ONCE, here, process=(11, 7)))
        still = await store.read(approvals.get, second.id)

    assert [AnswerOutcome.REQUESTER] * 4 == [one.outcome for one in refused]
    assert AnswerOutcome.REQUESTER is offered.outcome
    assert AnswerOutcome.ACCEPTED is other.outcome
    assert still is not None
    assert (None, None) == (still.resolution, still.behind)


async def test_where_typing_is_wanted_a_press_allows_nothing(tmp_path: Path) -> None:
    """It is told what to type and still waits; the typed word counts, and so does denying."""
    listed = Approvers({"telegram": frozenset({"42"})})
    for reply in (ONCE, ALWAYS):
        folder = tmp_path / reply
        folder.mkdir()
        async with answering(folder, listed, step_up=True) as (store, people_may, asked):
            pressed = await people_may.answer(Answer(asked, reply, ALICE, "k1"))
            offered = await people_may.offer(Answer(asked, reply, ALICE))
            still = await store.read(approvals.get, asked)
            typed = await people_may.answer(Answer(asked, reply, ALICE, "k2", typed=True))
            late = await people_may.answer(Answer(asked, reply, ALICE, "k1"))

        assert AnswerOutcome.NOT_TYPED is pressed.outcome is offered.outcome
        assert f"Send /approve {asked[:6].upper()} {reply} (" in pressed.sentence
        assert still is not None
        assert (None, True) == (still.resolution, still.step_up)
        assert [AnswerOutcome.ACCEPTED, AnswerOutcome.ALREADY_ENDED] == [
            typed.outcome,
            late.outcome,
        ]
    async with answering(tmp_path, listed, step_up=True) as (_, people_may, asked):
        denied = await people_may.answer(Answer(asked, DENY, ALICE))
    assert AnswerOutcome.ACCEPTED is denied.outcome


async def test_where_typing_is_wanted_a_press_is_no_vote(tmp_path: Path) -> None:
    """Of several who must allow, only those who typed it are counted."""
    listed = Approvers({"telegram": frozenset({"42", "43"})}, quorum=2)
    async with answering(tmp_path, listed, step_up=True) as (store, people_may, asked):
        pressed = await people_may.answer(Answer(asked, ONCE, ALICE, "k1"))
        first = await people_may.answer(Answer(asked, ONCE, BOB, "k2", typed=True))
        again = await people_may.answer(Answer(asked, ONCE, ALICE, "k3"))
        still = await store.read(approvals.get, asked)
        second = await people_may.answer(Answer(asked, ONCE, ALICE, "k4", typed=True))

    outcomes = [one.outcome for one in (pressed, first, again, second)]
    assert [
        AnswerOutcome.NOT_TYPED,
        AnswerOutcome.COUNTED,
        AnswerOutcome.NOT_TYPED,
        AnswerOutcome.ACCEPTED,
    ] == outcomes
    assert still is not None
    assert [BOB] == [vote.by for vote in still.votes]

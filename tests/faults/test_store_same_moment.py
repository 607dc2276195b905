"""Have two people answer differently in the same millisecond: one wins, both are told the truth.

Over two gateways on PostgreSQL, and over the one writer on SQLite, with and without a quorum. With
the row's lock removed the checker must find that two votes at once are both "one of two".
"""

import asyncio
import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.approvals.answer import Answer, Answered, Answering, AnswerOutcome
from core.approvals.messages import person
from core.approvals.routing.approvers import Approvers
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.store import approvals, open_store
from core.trust.sealing import Seals
from tests.core.store.mutants import GENUINE, Mutation, StoreCode, mutated
from tests.support.postgres import PostgresServer
from tests.support.store_records import ALICE, ALWAYS, BOB, DENY, ONCE, draft

ROUNDS = 1_000
_WHO = Approvers({"telegram": frozenset({"42", "43"})})
_PAIRS = ((ONCE, DENY), (ALWAYS, DENY), (ONCE, ALWAYS), (DENY, ONCE))


def _urls(engine: str, request: pytest.FixtureRequest, folder: Path) -> tuple[str, ...]:
    if engine == "sqlite":
        return (f"sqlite:///{folder}/state.db",)
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return (server.create(),) * 2


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.parametrize("quorum", [1, 2])
@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_one_winner_and_two_true_answers(
    engine: str, quorum: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A thousand rounds; each person's sentence agrees with what the store contains afterwards."""
    seen = asyncio.run(_rounds(_urls(engine, request, tmp_path), quorum))
    assert ROUNDS == sum(seen.values())


async def _rounds(urls: tuple[str, ...], quorum: int) -> Counter[tuple[str, ...]]:
    stores = [await open_store(url) for url in urls]
    both = [Answering(store, _WHO, Seals(Path("/nowhere"))) for store in (stores[0], stores[-1])]
    seen: Counter[tuple[str, ...]] = Counter()
    try:
        for number, replies in zip(range(ROUNDS), itertools.cycle(_PAIRS), strict=False):
            question = replace(draft(), quorum=quorum)
            await stores[0].write(approvals.create, question)
            answers = [
                Answer(question.id, reply, actor, f"k{number}-{actor.account}")
                for reply, actor in zip(replies, (ALICE, BOB), strict=True)
            ]
            order = (0, 1) if number % 2 else (1, 0)
            told = dict(
                zip(
                    order,
                    await asyncio.gather(*(both[i].answer(answers[i]) for i in order)),
                    strict=True,
                )
            )
            final = await stores[0].read(approvals.get, question.id)
            assert final is not None
            _check(answers, [told[0], told[1]], final, quorum)
            seen[tuple(sorted(one.outcome for one in told.values()))] += 1
    finally:
        for store in stores:
            await store.close()
    return seen


def _check(answers: list[Answer], told: list[Answered], final: Approval, quorum: int) -> None:
    winners = [n for n in (0, 1) if told[n].outcome is AnswerOutcome.ACCEPTED]
    assert 1 == len(winners), told
    winner, loser = winners[0], 1 - winners[0]
    end = final.resolution
    assert end is not None
    assert answers[winner].actor == end.by
    allowed = answers[winner].reply is not ApprovalReply.DENY
    assert (ApprovalState.ALLOWED if allowed else ApprovalState.DENIED) is end.state
    assert end.reply is not None
    assert {"deny": "Denied", "allow-once": "Allowed once"}.get(end.reply, "Always") in (
        told[winner].sentence
    )
    if told[loser].outcome is AnswerOutcome.COUNTED:
        assert 2 == quorum
        assert answers[loser].reply is not ApprovalReply.DENY
        assert "1 of 2" in told[loser].sentence
        if allowed:
            assert ApprovalReply.ALLOW_ONCE is end.reply, "the narrower answer of two holds"
        return
    assert AnswerOutcome.ALREADY_ENDED is told[loser].outcome
    assert person(answers[winner].actor) in told[loser].sentence
    assert "changed nothing" in told[loser].sentence
    assert quorum == 1 or not allowed, "one allow of two decided"


async def _votes_at_once(code: StoreCode, url: str, rounds: int) -> int:
    """Return how many of the rounds of two allows at once decided nothing, or twice."""
    stores = [await code.module("open").open_store(url) for _ in range(2)]
    ops, wrong = code.module("approvals"), 0
    try:
        for _ in range(rounds):
            question: Any = replace(draft(), quorum=2)
            await stores[0].write(ops.create, question)
            got = await asyncio.gather(
                *(
                    store.write(ops.answer, ops.Ballot(question.id, ONCE, actor, None))
                    for store, actor in zip(stores, (ALICE, BOB), strict=True)
                )
            )
            wrong += [True, False] != sorted((one.won for one in got), reverse=True)
    finally:
        for store in stores:
            await store.close()
    return wrong


@pytest.mark.deep
@pytest.mark.slow
def test_the_checker_finds_votes_without_the_lock(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    """Without the row's lock, two allows at once each see only themselves."""
    unlocked = Mutation(
        "votes without a lock",
        "approvals/votes.py",
        "IS_PENDING)\n    .with_for_update()",
        "IS_PENDING)",
    )

    locked = asyncio.run(_votes_at_once(GENUINE, postgres_server.create(), 100))
    torn = asyncio.run(_votes_at_once(mutated(unlocked, tmp_path), postgres_server.create(), 100))

    assert 0 == locked
    assert torn

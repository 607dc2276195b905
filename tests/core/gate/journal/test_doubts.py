"""Record what PostgreSQL committed exactly once, where a connection breaks during its COMMIT.

A relay breaks it: the COMMIT takes effect, or never arrives, or takes effect later.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.approvals.answer import Answer
from core.approvals.routing.approvers import Approvers
from core.errors import CommitInDoubt, JournalError
from core.gate.gate import Gate
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from core.model.policy import AskFallback
from core.model.result import Pending
from core.store import approvals
from tests.support.gate import ANA, allowed, gate_at, layer, records, request, says
from tests.support.postgres_relay import Loss, PostgresRelay, postgres_relay
from tests.support.waiting import until

BOB = Actor("memory", "bob", "Bob")
TWO = Approvers({"memory": frozenset({"ana", "bob"})}, quorum=2)
ALLOW = ApprovalReply.ALLOW_ONCE
UNROUTED = layer(fallback=AskFallback.FULL)
LOSSES = (Loss.ANSWER, Loss.COMMIT, Loss.LATE)


def kinds(home: Path, run_id: str) -> list[object]:
    """Return the kinds of a run's records, in order."""
    return [line["kind"] for line in records(home) if line.get("run") == run_id]


@dataclass(frozen=True, slots=True)
class Bench:
    """A gate whose store is behind a relay."""

    home: Path
    relay: PostgresRelay
    gate: Gate


@pytest.fixture
async def bench(
    tmp_path: Path, postgres_url: str, request: pytest.FixtureRequest
) -> AsyncIterator[Bench]:
    """Open it, with what a test says about its gate."""
    options = getattr(request, "param", {})
    with postgres_relay(postgres_url) as relay:
        async with gate_at(tmp_path, url=relay.url(postgres_url), **options) as gate:
            yield Bench(tmp_path, relay, gate)


async def ask(gate: Gate, home: Path) -> ApprovalId:
    """Ask people, and return the question."""
    asked = await gate.submit(request("true", cwd=home))
    assert isinstance(asked, Pending)
    return asked.run_id


async def in_doubt(
    relay: PostgresRelay, loss: Loss, doing: Callable[[], Awaitable[object]]
) -> None:
    """Do something whose COMMIT is in doubt."""
    relay.lose = loss
    with pytest.raises(CommitInDoubt):
        await doing()
    assert relay.lose is None


async def all_known(gate: Gate) -> None:
    """Wait until the journal has what was in doubt."""
    await until(lambda: not gate.execution.deferred._records)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("reply", [ALLOW, ApprovalReply.DENY])
async def test_an_answer_in_doubt_is_recorded_once(
    bench: Bench, loss: Loss, again: bool, reply: ApprovalReply
) -> None:
    """By whoever took it, and not by its repetition; what it allows starts after that."""
    run_id = await ask(bench.gate, bench.home)
    answer = Answer(run_id, reply, ANA, key="update:1")
    await in_doubt(bench.relay, loss, lambda: bench.gate.answer(answer))
    if again or loss is Loss.COMMIT:
        await bench.gate.answer(answer)
    await all_known(bench.gate)
    for waiting, plan in await bench.gate.queued():
        await bench.gate.run_approved(waiting, plan)

    ran = ["start", "finish"] if reply is ALLOW else []
    assert kinds(bench.home, run_id) == ["ask", "resolve", *ran]


async def test_what_an_answer_in_doubt_allows_waits_for_its_record(bench: Bench) -> None:
    """It is queued, as it was committed."""
    run_id = await ask(bench.gate, bench.home)
    await in_doubt(bench.relay, Loss.ANSWER, lambda: bench.gate.answer(says(run_id, ALLOW)))
    ((waiting, plan),) = await bench.gate.queued()
    if bench.gate.execution.deferred._records:
        with suppress(JournalError):
            await bench.gate.run_approved(waiting, plan)
    await all_known(bench.gate)
    for waiting, plan in await bench.gate.queued():
        await bench.gate.run_approved(waiting, plan)

    assert kinds(bench.home, run_id) == ["ask", "resolve", "start", "finish"]


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_question_in_doubt_is_recorded_once(bench: Bench, loss: Loss) -> None:
    """And not by the same request, which is sent again; the control: nothing was stored."""
    wish = request("true", cwd=bench.home, key="k")
    await in_doubt(bench.relay, loss, lambda: bench.gate.submit(wish))
    await bench.gate.submit(wish)
    await all_known(bench.gate)
    (one,) = await bench.gate.store.read(approvals.pending, 10)

    assert kinds(bench.home, one.id) == ["ask"]


async def test_a_question_whose_commit_takes_long_is_recorded(bench: Bench) -> None:
    """A link was cut for seconds, and what it still held arrives once it is whole again."""
    bench.relay.late_s = 4.0
    wish = request("true", cwd=bench.home)
    await in_doubt(bench.relay, Loss.LATE, lambda: bench.gate.submit(wish))
    await all_known(bench.gate)
    (one,) = await bench.gate.store.read(approvals.pending, 10)

    assert kinds(bench.home, one.id) == ["ask"]


@pytest.mark.parametrize("bench", [{"everyone": UNROUTED, "reachable": False}], indirect=True)
@pytest.mark.parametrize("loss", LOSSES)
async def test_what_the_ask_fallback_allows_in_doubt_is_recorded_before_it_starts(
    bench: Bench, loss: Loss
) -> None:
    """Its question and its end; nobody could be asked."""
    wish = request("true", cwd=bench.home, key="k")
    await in_doubt(bench.relay, loss, lambda: bench.gate.submit(wish))
    await bench.gate.submit(wish)
    await all_known(bench.gate)
    ((run_id, plan),) = await bench.gate.queued()
    await bench.gate.run_approved(run_id, plan)

    assert kinds(bench.home, run_id) == ["ask", "resolve", "start", "finish"]


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_run_withdrawn_in_doubt_is_recorded_once(bench: Bench, loss: Loss) -> None:
    """It was allowed and had not started; whoever cancelled it got the error."""
    run_id = await allowed(bench.gate, "true")
    bench.relay.of = b"run:"
    await in_doubt(bench.relay, loss, lambda: bench.gate.cancel(run_id, "no longer needed"))
    await bench.gate.cancel(run_id, "no longer needed")
    await all_known(bench.gate)
    assert await bench.gate.queued() == ()

    assert [one for one in kinds(bench.home, run_id) if one != "stop"] == [
        "ask",
        "resolve",
        "refuse",
    ]


@pytest.mark.parametrize("bench", [{"people": TWO}], indirect=True)
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_vote_in_doubt_is_recorded_once(bench: Bench, loss: Loss) -> None:
    """Another person's allow decides, and it is a vote all the same."""
    run_id = await ask(bench.gate, bench.home)
    vote = Answer(run_id, ALLOW, ANA, key="update:1")
    await in_doubt(bench.relay, loss, lambda: bench.gate.answer(vote))
    await bench.gate.answer(vote)
    await all_known(bench.gate)
    await bench.gate.answer(Answer(run_id, ALLOW, BOB))

    assert kinds(bench.home, run_id) == ["ask", "vote", "resolve"]


@pytest.mark.parametrize("loss", LOSSES)
async def test_a_withdrawal_in_doubt_is_recorded_once(bench: Bench, loss: Loss) -> None:
    """Whoever withdrew it does so again."""
    run_id = await ask(bench.gate, bench.home)
    await in_doubt(bench.relay, loss, lambda: bench.gate.cancel(run_id, "no longer needed"))
    await bench.gate.cancel(run_id, "no longer needed")
    await all_known(bench.gate)

    assert kinds(bench.home, run_id) == ["ask", "resolve"]


@pytest.mark.parametrize("bench", [{"timeout_ms": 100}], indirect=True)
@pytest.mark.parametrize("loss", LOSSES)
async def test_what_expires_in_doubt_is_recorded_once(bench: Bench, loss: Loss) -> None:
    """The clock repeats it at once; the control: a batch that was undone expires then."""
    asked = [await ask(bench.gate, bench.home) for _ in range(3)]
    await asyncio.sleep(0.2)
    await in_doubt(bench.relay, loss, bench.gate.expire)
    await bench.gate.expire()
    await all_known(bench.gate)
    await bench.gate.expire()

    for run_id in asked:
        assert kinds(bench.home, run_id) == ["ask", "resolve"]


async def test_an_answer_that_another_gateway_took_is_its_to_record(
    tmp_path: Path, postgres_url: str
) -> None:
    """The first gateway's was undone, and the person said it again to the second one."""
    homes = tmp_path / "one", tmp_path / "two"
    for home in homes:
        home.mkdir()
    with postgres_relay(postgres_url) as relay:
        async with (
            gate_at(homes[0], url=relay.url(postgres_url)) as first,
            gate_at(homes[1], owner="boot-2", url=postgres_url) as second,
        ):
            run_id = await ask(first, tmp_path)
            await in_doubt(relay, Loss.OUTAGE, lambda: first.answer(says(run_id, ALLOW)))
            await second.answer(says(run_id, ALLOW))
            relay.away = False
            await all_known(first)

    assert [kinds(home, run_id) for home in homes] == [["ask"], ["resolve"]]

"""Start what an answer allows after the record of the answer, however they are woken.

`tests/bot/evidence/test_export_proofs.py` verifies whole journals of answers and their runs.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from core.approvals.answer import AnswerOutcome
from core.approvals.routing.approvers import Approvers
from core.errors import JournalError
from core.gate.gate import Gate
from core.gate.journal.ends import Recording
from core.model.approval import ApprovalReply
from core.model.identity import Actor, ApprovalId
from core.model.result import Finished
from tests.support.gate import gate_at, records, request, says, without_journal
from tests.support.stores import ManualClock
from tests.support.waiting import until


async def _answered(recording: Recording, taken: asyncio.Event) -> None:
    with recording.answer():
        await taken.wait()


async def test_a_start_waits_for_the_answers_that_are_being_taken() -> None:
    """And for none that comes later; the control: without any it waits for nothing."""
    recording, first, second = Recording(), asyncio.Event(), asyncio.Event()
    await asyncio.wait_for(recording.settled(), 30)

    one = asyncio.create_task(_answered(recording, first))
    await asyncio.sleep(0)
    start = asyncio.create_task(recording.settled())
    await asyncio.sleep(0)
    other = asyncio.create_task(_answered(recording, second))
    await asyncio.sleep(0)
    assert not start.done()

    first.set()
    await asyncio.wait_for(start, 30)
    assert one.done()
    assert not other.done()
    second.set()
    await other


async def test_an_answer_that_fails_holds_nothing_up() -> None:
    """It is over, whatever the outcome."""
    recording = Recording()
    with suppress(TimeoutError), recording.answer():
        await asyncio.wait_for(asyncio.Event().wait(), 0.01)
    await asyncio.wait_for(recording.settled(), 30)


async def test_an_answer_that_the_journal_refuses_is_recorded_before_anything_starts(
    tmp_path: Path,
) -> None:
    """It is in the store; whoever gave it gets the error, and the run waits for the record."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        with without_journal(tmp_path):
            with pytest.raises(JournalError):
                await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
            ((run_id, plan),) = await gate.queued()
            with pytest.raises(JournalError):
                await gate.run_approved(run_id, plan)
        with pytest.raises(JournalError):
            await gate.run_approved(run_id, plan)
        await until(lambda: not gate.execution.deferred._records)
        assert isinstance(await gate.run_approved(run_id, plan), Finished)

    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve", "start", "finish"]


def kinds(home: Path, run_id: str) -> list[object]:
    """Return the kinds of a run's records, in order."""
    return [line["kind"] for line in records(home) if line.get("run") == run_id]


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_an_answer_that_comes_again_is_recorded_once(
    tmp_path: Path, reply: ApprovalReply
) -> None:
    """A platform sends a message again, or a client repeats its call; both get the same answer."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        answer = replace(says(asked.run_id, reply), key="update:1")
        outcomes = [(await gate.answer(answer)).outcome for _ in range(3)]

    assert outcomes == [AnswerOutcome.ACCEPTED] * 3
    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve"]


async def test_a_vote_that_comes_again_is_recorded_once(tmp_path: Path) -> None:
    """Likewise; the control: the other person's decides."""
    people = Approvers({"memory": frozenset({"ana", "bob"})}, quorum=2)
    async with gate_at(tmp_path, people=people) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        vote = replace(says(asked.run_id, ApprovalReply.ALLOW_ONCE), key="update:1")
        for _ in range(3):
            await gate.answer(vote)
        await gate.answer(replace(vote, actor=Actor("memory", "bob"), key="update:2"))

    assert kinds(tmp_path, asked.run_id) == ["ask", "vote", "resolve"]


async def test_a_request_that_comes_in_many_times_at_once_is_recorded_once(tmp_path: Path) -> None:
    """Evidence in which a question is asked twice does not verify."""
    async with gate_at(tmp_path) as gate:
        wish = request("true", cwd=tmp_path, key="k")
        asked = await asyncio.gather(*(gate.submit(wish) for _ in range(5)))

    assert len({one.run_id for one in asked}) == 1
    assert kinds(tmp_path, asked[0].run_id) == ["ask"]


async def _answer(gate: Gate, run_id: ApprovalId) -> None:
    answered = await gate.answer(says(run_id, ApprovalReply.DENY))
    assert answered.outcome is AnswerOutcome.ALREADY_ENDED


async def _cancel(gate: Gate, run_id: ApprovalId) -> None:
    assert not await gate.cancel(run_id, "no longer needed")


@pytest.mark.parametrize("coming", [_answer, _cancel])
async def test_what_comes_late_ends_the_questions_on_record(
    tmp_path: Path, coming: Callable[[Gate, ApprovalId], Awaitable[None]]
) -> None:
    """They expire by it, before the clock looks; so does an identical one that waits behind."""
    clock = ManualClock()
    async with gate_at(tmp_path, clock=clock) as gate:
        asked = [await gate.submit(request("true", cwd=tmp_path)) for _ in range(2)]
        clock.ms += 60_000
        await coming(gate, asked[0].run_id)
        assert await gate.expire() == 0

    for one in asked:
        assert kinds(tmp_path, one.run_id) == ["ask", "resolve"]
        (end,) = [line for line in records(tmp_path) if line["run"] == one.run_id][1:]
        assert end["state"] == "expired"


async def test_a_question_that_several_withdraw_at_once_is_recorded_once(tmp_path: Path) -> None:
    """Each is told that it is withdrawn."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(request("true", cwd=tmp_path))
        withdrawn = await asyncio.gather(*(gate.cancel(asked.run_id, "gone") for _ in range(5)))

    assert all(withdrawn)
    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve"]

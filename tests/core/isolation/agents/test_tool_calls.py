"""Have people decide on what an agent wants to do, in a real executor."""

import asyncio
import pwd
from pathlib import Path

from core.model.approval import ApprovalReply, ApprovalState
from core.model.result import Finished
from core.store import approvals
from tests.support.agents import Bench, Model, agents_at
from tests.support.executors import USER
from tests.support.gate import says


async def test_allowed_once_the_file_is_there(bench: Bench) -> None:
    """What a person allows happens as the other user; of the options only the single allow."""
    file = bench.work / "allowed"
    under_way = bench.give(f"write {file}")
    question = await bench.question()

    assert not file.exists()
    assert question.plan.run_as == USER
    assert str(file) in question.plan.text
    assert "made by the agent" in question.plan.text
    assert question.evaluation.promise == ()

    always = await bench.gate.answer(says(question.id, ApprovalReply.ALLOW_ALWAYS))
    assert "cannot be allowed always" in always.sentence
    await bench.answer(question, ApprovalReply.ALLOW_ONCE)
    done = await under_way
    assert isinstance(done, Finished)
    assert '"optionId": "yes-1"' in done.output.text
    assert file.stat().st_uid == pwd.getpwnam(USER).pw_uid
    file.unlink()


async def test_denied_there_is_no_file(bench: Bench) -> None:
    """A denial is passed on as a single rejection."""
    file = bench.work / "denied"
    under_way = bench.give(f"write {file}")
    await bench.answer(await bench.question(), ApprovalReply.DENY)

    done = await under_way
    assert isinstance(done, Finished)
    assert '"optionId": "no-1"' in done.output.text
    assert not file.exists()


async def test_nobody_answers_in_time_there_is_no_file(
    tmp_path: Path, executor_path: str, folder: Path, the_model: Model
) -> None:
    """At the deadline the agent gets a single rejection, as for a denial."""
    file = folder / "work" / "late"
    async with agents_at(tmp_path, executor_path, folder, the_model.url, timeout_ms=300) as bench:
        under_way = bench.give(f"write {file}")
        question = await bench.question()
        while not await bench.gate.expire():
            await asyncio.sleep(0.05)
        done = await under_way
        ended = await bench.gate.store.read(approvals.get, question.id)

    assert isinstance(done, Finished)
    assert '"optionId": "no-1"' in done.output.text
    assert ended is not None
    assert ended.resolution is not None
    assert ended.resolution.state is ApprovalState.EXPIRED
    assert not file.exists()


async def test_cancelled_while_asked(bench: Bench) -> None:
    """A cancelled prompt withdraws its question; the agent is told, and writes nothing."""
    file = bench.work / "cancelled"
    under_way = bench.give(f"write {file}")
    question = await bench.question()
    (run_id,) = bench.gate.running

    assert await bench.gate.cancel(run_id, "enough")
    done = await under_way
    ended = await bench.gate.store.read(approvals.get, question.id)

    assert isinstance(done, Finished)
    assert done.cancelled
    assert '{"outcome": "cancelled"}' in done.output.text
    assert ended is not None
    assert ended.resolution is not None
    assert ended.resolution.note == "the prompt was cancelled"
    assert not file.exists()


async def test_two_tool_calls_are_two_questions(bench: Bench) -> None:
    """One call is allowed: the other one is asked on its own."""
    under_way = bench.give(f"twice {bench.work}/two")
    first = await bench.question()
    await bench.answer(first, ApprovalReply.ALLOW_ONCE)
    second = await bench.question()
    await bench.answer(second, ApprovalReply.DENY)
    await under_way

    assert first.plan.digest != second.plan.digest
    assert (bench.work / "two.p1").exists()
    assert not (bench.work / "two.p2").exists()
    (bench.work / "two.p1").unlink()


async def test_a_line_is_judged_as_a_line(bench: Bench) -> None:
    """The agent's own shell runs it, so that even what a list would allow must be asked."""
    under_way = bench.give("run echo made | tr a-z A-Z")
    question = await bench.question()

    assert question.plan.text == "echo made | tr a-z A-Z"
    assert question.evaluation.promise == ()
    await bench.answer(question, ApprovalReply.ALLOW_ONCE)
    done = await under_way
    assert isinstance(done, Finished)
    assert "MADE" in done.output.text


async def test_kinds_of_tools_that_are_not_wanted_are_denied_unasked(bench: Bench) -> None:
    """`tools` names the kinds that people may be asked about."""
    file = bench.work / "unwanted"
    done = await bench.give(f"write {file}", tools=("read",))

    assert isinstance(done, Finished)
    assert '"optionId": "no-1"' in done.output.text
    assert not await bench.gate.store.read(approvals.pending, 10, None, None)
    assert not file.exists()

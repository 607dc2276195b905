"""Run what people allowed for a task without asking in that task, and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.methods.grants import GrantMethods, TaskParams
from bot.intake.registry.params import AgentParams
from core.approvals.answer import Answer, AnswerOutcome
from core.errors import NotFound
from core.ipc.peer import Peer
from core.model.approval import HALF_HOUR, THIS_TASK, ApprovalReply
from core.model.command import ExecRequest
from core.model.identity import AgentId, SessionKey, TaskId
from core.model.result import Denied, Finished, Pending, Submission
from core.store import approvals
from core.store.approvals import grants
from core.store.approvals.history_rows import history
from tests.support.gate import ANA, gate_at, granted, request

SELF = of_peer(Peer(1, 0, 0))
FIX = TaskId("fix-login")


def of_task(line: str, cwd: Path, task: str | None = FIX) -> ExecRequest:
    """Return a request of the agent that belongs to a task."""
    return replace(request(line, cwd=cwd), task=None if task is None else TaskId(task))


def kinds(results: list[Submission]) -> list[type[Submission]]:
    """Return the states of requests."""
    return [type(result) for result in results]


def records(home: Path) -> list[dict[str, Any]]:
    """Return the journal."""
    return [json.loads(line) for line in (home / "audit.jsonl").read_text().splitlines()]


async def test_a_grant_of_a_task_stays_in_it(tmp_path: Path) -> None:
    """Another session of the agent may use it; another task, none, or another agent asks."""
    async with gate_at(tmp_path) as gate:
        asked = await granted(gate, of_task("seq 3", tmp_path), THIS_TASK)
        here = await gate.submit(of_task("seq 1", tmp_path))
        elsewhere = replace(of_task("seq 1", tmp_path), session=SessionKey("other"))
        there = await gate.submit(elsewhere)
        others = [
            await gate.submit(of_task("seq 1", tmp_path, "fix-logout")),
            await gate.submit(of_task("seq 1", tmp_path, None)),
            await gate.submit(replace(of_task("seq 1", tmp_path), agent=AgentId("coder"))),
        ]

    assert [Finished, Finished] == kinds([here, there])
    assert [Pending] * 3 == kinds(others)
    decided = [one for one in records(tmp_path) if one["kind"] == "decision"]
    (rule,) = decided[0]["rules"]
    assert f"granted in task fix-login by Ana (memory), grant {asked.code}" == rule
    assert FIX == decided[0]["task"]


async def test_a_wider_grant_holds_in_every_task(tmp_path: Path) -> None:
    """Half an hour is half an hour, whatever the agent says it works on."""
    async with gate_at(tmp_path) as gate:
        await granted(gate, of_task("seq 3", tmp_path), HALF_HOUR)
        results = [
            await gate.submit(of_task("seq 1", tmp_path, task)) for task in (FIX, "other", None)
        ]

    assert [Finished] * 3 == kinds(results)


async def test_differing_tasks_are_different_questions(tmp_path: Path) -> None:
    """An answer for one task runs nothing of another, not even what waits already."""
    async with gate_at(tmp_path) as gate:
        first = await gate.submit(of_task("seq 3", tmp_path))
        others = [
            await gate.submit(of_task("seq 3", tmp_path, "fix-logout")),
            await gate.submit(of_task("seq 3", tmp_path, None)),
        ]
        same = await gate.submit(of_task("seq 3", tmp_path))
        leader = await gate.store.read(approvals.get, first.run_id)
        apart = [await gate.store.read(approvals.get, one.run_id) for one in others]
        behind = await gate.store.read(approvals.get, same.run_id)
        yes = Answer(first.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=THIS_TASK)
        await gate.answer(yes)
        still = [await gate.wait(one.run_id, 0) for one in others]
        joined = await gate.wait(same.run_id, 0)

    assert leader is not None
    assert leader.asked == 2
    assert [None, None] == [one.behind for one in apart if one is not None]
    assert behind is not None
    assert first.run_id == behind.behind
    assert all(isinstance(one, Pending) for one in still)
    assert not isinstance(joined, Pending)


async def test_without_a_task_it_cannot_be_allowed_for_one(tmp_path: Path) -> None:
    """The answer is refused with a clear message, and the question keeps waiting."""
    async with gate_at(tmp_path) as gate:
        asked = await gate.submit(of_task("seq 3", tmp_path, None))
        yes = Answer(asked.run_id, ApprovalReply.ALLOW_ALWAYS, ANA, terms=THIS_TASK)
        refused = await gate.answer(yes)
        still = await gate.wait(asked.run_id, 0)
        held = await gate.store.read(grants.listed)

    assert AnswerOutcome.NOT_OFFERED is refused.outcome
    assert "cannot be allowed for its task: the request names none" in refused.sentence
    assert isinstance(still, Pending)
    assert () == held


async def test_the_end_of_a_task_asks_again_and_is_written_down(tmp_path: Path) -> None:
    """Only grants of the task end; if none applies, nothing is written."""
    async with gate_at(tmp_path) as gate:
        methods = GrantMethods(gate.store, gate.rulebook, gate.journal)
        asked = await granted(gate, of_task("seq 3", tmp_path), THIS_TASK)
        other = await granted(gate, of_task("uname", tmp_path, "other"), THIS_TASK)
        with pytest.raises(NotFound):
            await methods.end_task(TaskParams(task="unknown"), SELF)
        with pytest.raises(NotFound):
            await methods.end_task(TaskParams(task=FIX, agent="coder"), SELF)
        before = await gate.submit(of_task("seq 1", tmp_path))
        done = await methods.end_task(TaskParams(task=FIX), SELF)
        after = await gate.submit(of_task("seq 2", tmp_path))
        kept = await gate.submit(of_task("uname -r", tmp_path, "other"))
        left = await gate.store.read(grants.listed)

    assert done.done is True
    assert asked.code in done.sentence
    assert [Finished, Pending, Finished] == kinds([before, after, kept])
    assert [other.run_id] == [grant.id for grant in left]
    ends = [one for one in records(tmp_path) if one["kind"] == "people"]
    assert [("end task", FIX)] == [(one["what"], one["whom"]) for one in ends]


async def test_the_list_and_the_history_tell_the_task(tmp_path: Path) -> None:
    """A preview counts the commands of the task only."""
    async with gate_at(tmp_path) as gate:
        await gate.submit(of_task("seq 8", tmp_path, "other"))
        await gate.submit(of_task("seq 9", tmp_path, None))
        await granted(gate, of_task("seq 3", tmp_path), THIS_TASK)
        await gate.submit(of_task("seq 1", tmp_path))
        listed = await GrantMethods(gate.store, gate.rulebook, gate.journal).listed(
            AgentParams(), SELF
        )
        past = await gate.store.read(history, 10)

    (grant,) = listed.grants
    assert (FIX, None) == (grant.task, grant.session)
    assert grant.preview is not None
    assert (4, 2) == (grant.preview.looked, grant.preview.matched)
    assert {"seq 8": "other", "seq 9": None, "seq 3": FIX, "seq 1": FIX} == {
        row.text: row.task for row in past
    }


@pytest.mark.parametrize("task", ["", "fix login", "-fix", "fix\n", "f\u0456x", "x" * 101])
async def test_a_name_that_could_pass_for_another_is_refused(tmp_path: Path, task: str) -> None:
    """However it arrived; no one is asked about it."""
    async with gate_at(tmp_path) as gate:
        refused = await gate.submit(of_task("seq 3", tmp_path, task))

    assert isinstance(refused, Denied)
    assert "a task is named with letters" in refused.why

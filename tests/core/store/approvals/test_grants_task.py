"""Keep a task's grant for its agent and task alone; the mutants of grants run these."""

import asyncio
from dataclasses import replace
from pathlib import Path

from core.model.approval import THIS_TASK
from core.model.identity import AgentId, TaskId
from core.store import approvals, open_store
from core.store.approvals import grants
from tests.support.store_records import ALICE, ALWAYS, SESSION, draft

MAIN, FIX = AgentId("main"), TaskId("fix")


async def _held(folder: Path) -> dict[str, int]:
    """Let Alice allow one task, and count what applies where."""
    store = await open_store(f"sqlite:///{folder}/state.db")
    question = draft()
    question = replace(question, plan=replace(question.plan, task=FIX))
    await store.write(approvals.create, question)
    await store.write(
        approvals.answer, approvals.Ballot(question.id, ALWAYS, ALICE, None, "", THIS_TASK)
    )
    wheres = {
        "here": (MAIN, FIX),
        "another task": (MAIN, TaskId("other")),
        "no task": (MAIN, None),
        "another agent": (AgentId("coder"), FIX),
    }
    found = {
        where: len(await store.read(grants.active, agent, SESSION, None, task))
        for where, (agent, task) in wheres.items()
    }
    await store.write(grants.end_task, TaskId("other"))
    found["after another's end"] = len(await store.read(grants.listed))
    await store.write(grants.end_task, FIX)
    found["after its end"] = len(await store.read(grants.listed))
    await store.close()
    return found


def test_a_grant_of_a_task_is_not_there_for_another(tmp_path: Path) -> None:
    """For another task, for none and for another agent people are asked."""
    found = asyncio.run(_held(tmp_path))

    assert found["here"] == 1
    assert [0, 0, 0] == [found[one] for one in ("another task", "no task", "another agent")]


def test_a_grant_ends_with_its_own_task(tmp_path: Path) -> None:
    """The end of another one leaves it."""
    found = asyncio.run(_held(tmp_path))

    assert (1, 0) == (found["after another's end"], found["after its end"])

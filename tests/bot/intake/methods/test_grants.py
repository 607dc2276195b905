"""End what was allowed for a task, and record that where something ends."""

from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.methods.grants import GrantMethods, TaskParams
from core.errors import NotFound
from core.model.approval import GrantTerms
from core.model.identity import AgentId, TaskId
from tests.support.gate import gate_at, granted, records, request
from tests.support.three_agents import whole

TASK = TaskId("release")


@pytest.mark.parametrize(
    ("task", "agent", "ended"),
    [
        (TASK, "amber", {"amber"}),
        (TASK, None, {"amber", "birch"}),
        (TASK, "cedar", None),
        ("another", "amber", None),
        ("another", None, None),
    ],
)
async def test_the_end_of_a_task_is_recorded_where_something_ends(
    tmp_path: Path, task: str, agent: str | None, ended: set[str] | None
) -> None:
    """Of the named agent, or of all; what nobody was given is refused, and no record says more."""
    async with gate_at(tmp_path) as gate:
        codes = {}
        for name in ("amber", "birch"):
            asked = replace(request("echo x"), agent=AgentId(name), task=TASK)
            codes[name] = (await granted(gate, asked, GrantTerms(uses=9, task_only=True))).code
        methods = GrantMethods(gate.store, gate.rulebook, gate.journal)
        try:
            answer = await methods.end_task(TaskParams(task=task, agent=agent), whole())
            said = answer.sentence
        except NotFound as refused:
            said = str(refused)
    found = [one for one in records(tmp_path) if one.get("what") == "end task"]

    assert {name for name, code in codes.items() if code in said} == (ended or set())
    assert [one["whom"] for one in found] == ([] if ended is None else [task])
    assert [one.get("agent") for one in found] == ([] if ended is None else [agent])

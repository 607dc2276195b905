"""Bind what people are shown: each field of what an agent does itself is in the digest."""

from dataclasses import fields, replace
from typing import Any

import pytest

from core.model.command import AgentPart, AgentPartKind
from core.planning.digest import digest_of
from tests.support.plans import command, plan_of

PART = AgentPart(AgentPartKind.PROMPT)
OTHERS: dict[str, Any] = {
    "kind": AgentPartKind.TERMINAL,
    "account": "uid:1",
    "call": "gateway.1",
    "user": "alice",
    "tools": ("edit",),
    "unasked": True,
    "kernel_session": "1:2",
}


@pytest.mark.parametrize("name", [one.name for one in fields(AgentPart)])
def test_another_value_is_another_plan(name: str) -> None:
    """An answer to one plan is none to a plan for another account, call, user or session."""
    plan = replace(plan_of(command("ls")), part=PART)
    other = replace(plan, part=replace(PART, **{name: OTHERS[name]}))

    assert digest_of(other) != digest_of(plan)


@pytest.mark.parametrize(
    ("name", "value"), [("node_name", "shed"), ("run_as", "alice"), ("task", "nightly")]
)
def test_where_and_as_whom_it_runs_is_in_the_digest(name: str, value: str) -> None:
    """Each is left out of the digest while it is not set, so that older plans keep theirs."""
    plan = plan_of(command("ls"))
    values: list[dict[str, Any]] = [{name: value}, {name: f"{value}-2"}]

    assert len({digest_of(plan), *(digest_of(replace(plan, **one)) for one in values)}) == 3

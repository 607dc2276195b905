"""Bind what people are shown: each field of a command, or of what an agent does itself."""

from dataclasses import Field, fields, replace
from typing import Any

import pytest

from core.model.command import (
    AgentPart,
    AgentPartKind,
    PinnedDirectory,
    PlannedCommand,
    Routing,
)
from core.planning.digest import digest_of
from tests.support.plans import command, pinned, plan_of

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
OF_COMMANDS: dict[str, tuple[Any, ...]] = {
    "argv": (("ls", "-l"), ("ls", "-a")),
    "executable": (pinned("/bin/a"), pinned("/bin/b"), None),
    "operands": ((pinned("/srv/a"),), (pinned("/srv/b"),)),
    "inner": ((command("a"),), (command("b"),)),
    "cwd": (PinnedDirectory("/srv/a", 1, 1), PinnedDirectory("/srv/b", 1, 1)),
    "routing": (Routing(null_input=True), Routing(null_output=True)),
    "links": ((("a", "/b"),), (("a", "/c"),)),
    "neutral": ((("A", "1"),), (("A", "2"),)),
    "late": (((1, 0),), ((1, 2),)),
    "fed": (True,),
    "reloads": (True,),
}
"""Values of a command's fields; others are texts, or tuples of texts."""


@pytest.mark.parametrize("field", fields(PlannedCommand), ids=lambda one: one.name)
def test_a_command_with_another_value_is_another_plan(field: Field[Any]) -> None:
    """Whatever its value is, and not only whether it has one."""
    texts: tuple[Any, ...] = ("a", "b") if field.default == "" else (("a",), ("b",))
    values = OF_COMMANDS.get(field.name, texts)
    plans = [plan_of(replace(command("ls"), **{field.name: value})) for value in values]

    assert len(set(map(digest_of, (plan_of(command("ls")), *plans)))) == len(values) + 1


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

"""Show an agent what it may know from the moment at which it gets the id."""

import asyncio
from pathlib import Path

import pytest

from bot.intake.callers import visibility
from bot.intake.callers.caller import Caller
from core.errors import NotFound
from core.gate.gate import Gate
from core.model.access import EVERY_SCOPE
from core.model.identity import AgentId, ApprovalId
from tests.support.gate import AGENT, gate_at, list_patterns, request

ROUNDS = 10


def of_agent(name: str) -> Caller:
    """Return a caller that sees only one agent's runs."""
    return Caller(AGENT, None, EVERY_SCOPE, frozenset({AgentId(name)}))


async def looks(gate: Gate, run_id: ApprovalId, caller: Caller) -> list[bool]:
    """Return whether a caller finds a run, by its whole id, now and on each later check."""
    found = []
    for find in (visibility.of_run, visibility.named) * 3:
        try:
            found.append(await find(gate, run_id, caller) == run_id)
        except NotFound:
            found.append(False)
    return found


async def test_a_run_is_seen_before_it_is_stored(tmp_path: Path) -> None:
    """By its own agent, even while its row is being written; by no other (the control)."""
    list_patterns(tmp_path, "/usr/bin/echo")
    own: list[asyncio.Task[list[bool]]] = []
    others: list[asyncio.Task[list[bool]]] = []
    async with gate_at(tmp_path) as gate:

        def begun(run_id: ApprovalId) -> None:
            own.append(asyncio.create_task(looks(gate, run_id, of_agent("main"))))
            others.append(asyncio.create_task(looks(gate, run_id, of_agent("other"))))

        for _ in range(ROUNDS):
            await gate.submit(request("echo x", cwd=tmp_path), begun)
        seen, hidden = await asyncio.gather(*own), await asyncio.gather(*others)
        with pytest.raises(NotFound):
            await visibility.of_run(gate, ApprovalId("0" * 26), of_agent("main"))

    assert seen == [[True] * 6] * ROUNDS
    assert hidden == [[False] * 6] * ROUNDS

"""Offer what was granted, and count a caller as a requester, except for the gateway's proof."""

import os
from pathlib import Path

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.tools import ToolMethods, ToolParams, tools_of
from core.ipc.peer import Peer, start_ticks
from core.policy.rules.compiled import compiled
from core.settings import CoreSettings
from tests.support.gate import gate_at


async def test_a_call_makes_a_requester_and_a_proof_does_not(tmp_path: Path) -> None:
    """Also a refused call; a proof alone would make the gateway's own terminal one."""
    peer = Peer(os.getpid(), os.getuid(), os.getgid(), start_ticks(os.getpid()))
    caller = of_peer(peer)
    async with gate_at(tmp_path) as gate:
        askers = Askers(gate.store)
        methods = ToolMethods(gate, askers)
        mark = gate.execution.guard.marks.draw("tool", "/usr/bin/touch", str(tmp_path))
        seen = []
        for argv in (mark.argv, ("/usr/bin/true",)):
            params = ToolParams(tool="Exec", args={"argv": list(argv)}, session="main")
            await methods.call(params, caller)
            seen.append(await askers.known(caller.requester))

    assert caller.requester.process is not None
    assert seen == [False, True]


@pytest.mark.parametrize(
    ("agents", "offered"),
    [
        ([], False),
        ([{"id": "main"}], False),
        ([{"id": "main", "capabilities": {"tools": ["Which"]}}], False),
        ([{"id": "a"}, {"id": "b", "capabilities": {"tools": ["Exec"]}}], True),
    ],
)
async def test_exec_is_a_tool_only_where_an_owner_granted_it(
    tmp_path: Path, agents: list[dict[str, object]], *, offered: bool
) -> None:
    """To any agent: the opt-in that S3 asks for; the other tools are there without it."""
    settings = CoreSettings.model_validate({"agents": {"list": agents}})
    async with gate_at(tmp_path) as gate:
        gate.rulebook.compiled = compiled(settings, str(tmp_path))
        names = tools_of(gate).names

    assert ("Exec" in names) is offered
    assert "Which" in names

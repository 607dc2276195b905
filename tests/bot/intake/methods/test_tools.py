"""Count a tool's caller as a requester, except for the gateway's own proof."""

import os
from pathlib import Path

from bot.intake.callers.caller import of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.tools import ToolMethods, ToolParams
from core.ipc.peer import Peer, start_ticks
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

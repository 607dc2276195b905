"""Tell a caller who cancels what was there to cancel, not what it has become."""

import os
from pathlib import Path

from bot.intake.callers.caller import of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import RunMethods
from bot.intake.registry.params import IdParams
from core.ipc.peer import Peer, start_ticks
from core.model.result import Pending
from tests.support.gate import gate_at, request


async def test_a_cancelled_question_is_called_cancelled_and_then_ended(tmp_path: Path) -> None:
    """The second cancel gets a refusal, and says that there is nothing to cancel."""
    peer = Peer(os.getpid(), 0, 0, start_ticks(os.getpid()))
    caller = of_peer(peer)
    async with gate_at(tmp_path) as gate:
        methods = RunMethods(gate, Askers(gate.store))
        asked = await gate.submit(request("touch x", cwd=tmp_path))
        assert isinstance(asked, Pending)
        params = IdParams(id=asked.run_id)
        first = await methods.cancel(params, caller)
        second = await methods.cancel(params, caller)

    assert (first.cancelled, second.cancelled) == (True, False)
    assert first.sentence.endswith("is cancelled; the command will not run.")
    assert "there is nothing to cancel" in second.sentence

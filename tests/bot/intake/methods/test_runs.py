"""Tell a caller what was there to cancel, not what it has become, and wait only if asked to."""

import asyncio
import os
from pathlib import Path

import pytest

from bot.intake.callers.caller import of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.runs import RunMethods
from bot.intake.registry.params import IdParams, RunParams
from core.ipc.peer import Peer, start_ticks
from core.model.approval import ApprovalReply
from core.model.result import Pending
from tests.support.gate import gate_at, request, says
from tests.support.waiting import until


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


@pytest.mark.parametrize("wait", [False, True])
async def test_a_question_is_returned_at_once_to_who_does_not_wait(
    tmp_path: Path, *, wait: bool
) -> None:
    """Whoever waits gets the end of what they asked for."""
    peer = Peer(os.getpid(), 0, 0, start_ticks(os.getpid()))
    async with gate_at(tmp_path) as gate, asyncio.timeout(20):
        methods = RunMethods(gate, Askers(gate.store))
        params = RunParams(argv=("/usr/bin/touch", "x"), cwd=str(tmp_path), wait=wait)
        going = asyncio.create_task(methods.run(params, of_peer(peer)))
        if wait:
            await until(lambda: gate._waiters._futures)
            assert not going.done()
            (asked,) = gate._waiters._futures
            await gate.answer(says(asked, ApprovalReply.DENY))
        answer = await going

    assert answer.status == ("denied" if wait else "pending")

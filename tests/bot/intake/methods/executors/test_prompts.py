"""Report what happens to a prompt that is not run, and who gets its id."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from bot.intake.callers.caller import Caller, of_peer
from bot.intake.callers.terminal import Askers
from bot.intake.methods.executors.prompts import PromptMethods
from bot.intake.registry.params import PromptParams
from core.errors import Stopping
from core.ipc.peer import Peer, start_ticks
from core.model.identity import ApprovalId
from core.model.policy import ExecSecurity
from tests.support.gate import gate_at, layer

REFUSING = layer(security=ExecSecurity.DENY)


def _wish(folder: Path, *, wait: bool) -> PromptParams:
    return PromptParams(
        agent="main", prompt="look around", session="main", cwd=str(folder), wait=wait
    )


def _caller() -> Caller:
    return of_peer(Peer(os.getpid(), os.getuid(), os.getgid(), start_ticks(os.getpid())))


async def test_who_waits_hears_the_id_first(tmp_path: Path) -> None:
    """A caller that can be notified gets the id of what it waits for; another only the answer."""
    heard: list[ApprovalId] = []
    caller = _caller()
    async with gate_at(tmp_path, REFUSING) as gate:
        methods = PromptMethods(gate, Askers(gate.store))
        told = await methods.prompt(_wish(tmp_path, wait=True), replace(caller, begun=heard.append))
        alone = await methods.prompt(_wish(tmp_path, wait=True), caller)

    assert told.as_json()["status"] == alone.as_json()["status"] == "denied"
    assert heard == [told.as_json()["id"]]


async def test_a_prompt_that_cannot_be_run_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A failure of Sayso is reported, a refusal is not: it is in the history."""
    async with gate_at(tmp_path, REFUSING) as gate:
        methods = PromptMethods(gate, Askers(gate.store))
        refused = await methods.prompt(_wish(tmp_path, wait=False), _caller())
        before = list(caplog.messages)
        gate.close()
        with pytest.raises(Stopping):
            await methods.prompt(_wish(tmp_path, wait=False), _caller())

    assert refused.as_json()["status"] == "denied"
    assert before == []
    assert [one for one in caplog.messages if one.startswith("a prompt could not be run: ")]

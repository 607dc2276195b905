"""Tell a waiting local program where its question is answered, and no one else."""

from pathlib import Path
from typing import Any

import pytest

from bot.intake.callers.caller import Caller, of_peer
from bot.intake.results.outcomes import submission
from core.approvals.routing.approvers import Approvers
from core.ipc.peer import Peer
from core.model.access import EVERY_SCOPE
from core.model.identity import ApprovalId, Intake, Requester
from core.model.result import Finished, Output, Stream, Streams
from tests.support.api_tokens import ASK, LOOK, Api
from tests.support.gate import gate_at

CHATS = {"memory": frozenset({"ana"})}
HERE = of_peer(Peer(1, 0, 0))
FAR = Caller(Requester(Intake.HTTP, "api:1"), None, EVERY_SCOPE)


@pytest.mark.parametrize(
    ("people", "answers"),
    [
        (Approvers(CHATS), []),
        (Approvers({**CHATS, "terminal": frozenset({"uid:7"})}), ["terminal"]),
        (Approvers(CHATS, everywhere=frozenset({"api:4k7w"})), ["api"]),
        (Approvers(CHATS, everywhere=frozenset({"person:ana"})), ["terminal", "api"]),
    ],
)
async def test_a_local_program_learns_where_it_is_answered(
    tmp_path: Path, people: Approvers, answers: list[str]
) -> None:
    """If no one is listed, no one is sent; the first check and a later one agree."""
    async with gate_at(tmp_path, people=people) as gate:
        api = Api.of(gate)
        wish = {"command": "id", "cwd": str(tmp_path), "wait": False}
        asked = await api.call(HERE, "exec.run", **wish)
        later = await api.call(HERE, "exec.wait", id=asked["id"], timeoutMs=0)

    assert answers == asked["answers"] == later["answers"]


async def test_what_came_over_the_network_is_not_answered_here(tmp_path: Path) -> None:
    """A socket follower is not sent to `sayso approve`; its requester is told less."""
    people = Approvers(CHATS, everywhere=frozenset({"person:ana"}))
    async with gate_at(tmp_path, people=people) as gate:
        api = Api.of(gate)
        agent = await api.caller("agent", ASK, LOOK, agent="main")
        wish = {"command": "id", "cwd": str(tmp_path), "wait": False}
        asked = await api.call(agent, "exec.run", **wish)
        followed = await api.call(HERE, "exec.wait", id=asked["id"], timeoutMs=0)

    assert {"status", "id", "code", "deadlineMs"} == asked.keys()
    assert ["api"] == followed["answers"]


@pytest.mark.parametrize(
    ("caller", "streams", "told"),
    [
        (HERE, Streams(Stream(b"a", 1), Stream(b"b\xff", 2)), ("YQ==", "Yv8=")),
        (HERE, None, None),
        (FAR, Streams(Stream(b"a", 1), Stream(b"b", 1)), None),
        (FAR, None, None),
    ],
)
def test_who_is_told_each_stream(
    caller: Caller, streams: Streams | None, told: tuple[str, str] | None
) -> None:
    """Bytes as they are go to programs of this machine and to agents, if they were kept apart."""
    end = Finished(ApprovalId("1" * 32), 0, None, Output("ab", "ab", 3), 5, streams=streams)
    answer: Any = submission(end, caller).as_json()

    assert ("stdout" in answer, "stderr" in answer) == (told is not None, told is not None)
    if told is not None:
        assert (answer["stdout"]["data"], answer["stderr"]["data"]) == told

"""Route an answer to the asker of that very node; a lost connection ends them all."""

import asyncio
import gc
from dataclasses import dataclass, field
from typing import cast

import pytest

from core.errors import BadRequest, Conflict, HostUnavailable, SaysoError
from core.model.decision import DenialReason
from core.model.node import Node, NodeId
from core.nodes.fleet import Connection
from core.nodes.frames import AnyFrame, BadFrame, Fault, Invoke, Invoked, NotInvoked, Unprepared
from core.nodes.link import LinkLost, NodeLink
from core.nodes.questions import Questions

WEB, DB = NodeId("a" * 64), NodeId("b" * 64)


@dataclass
class Line:
    """What was sent to a node."""

    sent: list[AnyFrame] = field(default_factory=list)

    async def send(self, frame: AnyFrame) -> None:
        """Keep a frame."""
        self.sent.append(frame)


def connection(line: Line, node_id: NodeId = WEB) -> Connection:
    """Return a connection of a node over a line."""
    return Connection(Node(node_id, "web", "", 0, ""), "5" * 32, cast("NodeLink", line))


async def asked(line: Line) -> Invoke:
    """Wait for the question."""
    while not line.sent:
        await asyncio.sleep(0)
    frame = line.sent[-1]
    assert isinstance(frame, Invoke)
    return frame


async def test_only_the_node_that_was_asked_answers() -> None:
    """Another node's answer under the same id counts for nothing."""
    questions, line = Questions(), Line()
    task = asyncio.create_task(questions.invoke(connection(line), "system.which", {"a": 1}, 5))
    frame = await asked(line)
    assert (frame.command, frame.params) == ("system.which", {"a": 1})
    questions.answered(DB, Invoked(id=frame.id, result={"whose": "db"}))
    questions.answered(WEB, Invoked(id="0" * 32, result={"whose": "nobody"}))
    await asyncio.sleep(0)
    assert not task.done()
    questions.answered(WEB, Invoked(id=frame.id, result={"whose": "web"}))
    assert await task == {"whose": "web"}
    questions.answered(WEB, Invoked(id=frame.id, result={}))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Fault.BAD_REQUEST, BadRequest),
        (Fault.CONFLICT, Conflict),
        (Fault.FAILED, HostUnavailable),
    ],
)
async def test_a_refusal_names_the_node(error: Fault, kind: type[SaysoError]) -> None:
    """Each fault is an error of ours."""
    questions, line = Questions(), Line()
    task = asyncio.create_task(questions.invoke(connection(line), "system.which", {}, 5))
    frame = await asked(line)
    questions.answered(WEB, NotInvoked(id=frame.id, error=error, why="no such thing"))
    with pytest.raises(kind, match="On node web: no such thing"):
        await task


async def test_a_loss_and_a_silence_end_a_question() -> None:
    """Only of the node that is gone; another one is waited for."""
    questions, line, other = Questions(), Line(), Line()
    task = asyncio.create_task(questions.invoke(connection(line), "system.which", {}, 5))
    rest = asyncio.create_task(questions.invoke(connection(other, DB), "system.which", {}, 5))
    await asked(line)
    frame = await asked(other)
    questions.lost(WEB)
    with pytest.raises(LinkLost, match="ended"):
        await task
    questions.answered(DB, Invoked(id=frame.id, result={}))
    assert await rest == {}
    with pytest.raises(LinkLost, match="nothing within"):
        await questions.invoke(connection(line), "system.which", {}, 0.01)


async def test_an_answer_to_something_else_is_none() -> None:
    """A node that answers `prepare` to a lookup."""
    questions, line = Questions(), Line()
    task = asyncio.create_task(questions.invoke(connection(line), "system.which", {}, 5))
    frame = await asked(line)
    questions.answered(WEB, Unprepared(id=frame.id, reason=DenialReason.BAD_REQUEST, why=""))
    with pytest.raises(BadFrame, match="no answer"):
        await task


@dataclass
class FullLine(Line):
    """A line that takes nothing until it is cut."""

    begun: asyncio.Event = field(default_factory=asyncio.Event)
    cut: asyncio.Event = field(default_factory=asyncio.Event)

    async def send(self, frame: AnyFrame) -> None:
        """Wait, and fail."""
        self.begun.set()
        await self.cut.wait()
        raise LinkLost(f"nothing can be sent: {frame.t}")


async def _cut(questions: Questions, *, lost: bool) -> None:
    """Ask over a connection that ends while the question is being sent."""
    line = FullLine()
    task = asyncio.create_task(questions.invoke(connection(line), "system.which", {}, 5))
    await line.begun.wait()
    if lost:
        questions.lost(WEB)
    line.cut.set()
    (failure,) = await asyncio.gather(task, return_exceptions=True)
    assert "nothing can be sent" in str(failure)


async def test_a_question_that_is_not_sent_when_its_connection_ends_leaves_no_error() -> None:
    """Its caller is told; asyncio logged a traceback for each besides."""
    questions, left = Questions(), list[object]()
    asyncio.get_running_loop().set_exception_handler(lambda _, what: left.append(what))
    for lost in (False, True):
        await _cut(questions, lost=lost)
        await asyncio.sleep(0)  # until then the loop itself holds the failure
        gc.collect()
    assert left == []

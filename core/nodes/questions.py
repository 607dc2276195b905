"""Ask connected nodes something, and return each answer to its caller."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from core.errors import BadRequest, Conflict, HostUnavailable, SaysoError
from core.model.node import NodeId
from core.nodes.fleet import Connection
from core.nodes.frames import (
    BadFrame,
    Fault,
    Invoke,
    Invoked,
    NotInvoked,
    Prepare,
    Prepared,
    Unprepared,
)
from core.nodes.link import LinkLost
from core.trust.ids import new_id

_FAULTS: dict[Fault, type[SaysoError]] = {
    Fault.BAD_REQUEST: BadRequest,
    Fault.CONFLICT: Conflict,
    Fault.FAILED: HostUnavailable,
}
Answer = Prepared | Unprepared | Invoked | NotInvoked


@dataclass(slots=True)
class Questions:
    """What nodes were asked and have not answered; answers from other nodes are ignored."""

    _open: dict[tuple[NodeId, str], "asyncio.Future[Answer | None]"] = field(default_factory=dict)

    async def ask(self, connection: Connection, frame: Prepare | Invoke, within_s: float) -> Answer:
        """Return what a node answers.

        Raises:
            LinkLost: it is gone, or takes too long.
            BadFrame: the question is too large to be sent.
        """
        key = connection.node.id, frame.id
        asked: asyncio.Future[Answer | None]
        asked = self._open[key] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(within_s):
                await connection.link.send(frame)
                answer = await asked
        except TimeoutError:
            raise LinkLost(f"nothing within {within_s:.0f} s") from None
        finally:
            del self._open[key]
        if answer is None:
            raise LinkLost("the connection ended")
        return answer

    async def invoke(
        self,
        connection: Connection,
        command: str,
        params: Mapping[str, JsonValue],
        within_s: float,
    ) -> dict[str, JsonValue]:
        """Have a node carry out a command that it advertises, and return the result.

        Raises:
            LinkLost: it is gone, or takes too long.
            BadFrame: the params are too large to be sent, or the answer does not fit them.
            HostUnavailable: it failed.
            BadRequest: it refuses these params.
            Conflict: what was to be changed has changed.
        """
        frame = Invoke(id=new_id(), command=command, params=dict(params))
        answer = await self.ask(connection, frame, within_s)
        match answer:
            case Invoked(result=result):
                return result
            case NotInvoked(error=error, why=why):
                raise _FAULTS[error](f"On node {connection.node.name}: {why}")
            case _:
                raise BadFrame(f"{answer.t} is no answer to invoke")

    def answered(self, node_id: NodeId, frame: Answer) -> None:
        """Pass on an answer; one that no caller waits for is dropped."""
        asked = self._open.get((node_id, frame.id))
        if asked is not None and not asked.done():
            asked.set_result(frame)

    def lost(self, node_id: NodeId) -> None:
        """Fail all questions to a node whose connection ended, also those not sent yet."""
        for (asked_of, _), asked in self._open.items():
            if asked_of == node_id and not asked.done():
                asked.set_result(None)  # an exception would be logged where sending fails first

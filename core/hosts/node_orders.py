"""Keep the runs that were ordered from nodes until their endings are stored.

An ending is accepted only from the node that the run was ordered from. If no caller waits for it,
because an earlier gateway ordered the run, it goes to the store, and the node is notified once it
is there.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from core.errors import StoreError
from core.hosts.node_answers import NodeRuns
from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.model.result import Finished, Output
from core.nodes.frames import AnyFrame, Ended, Noted, NotRun, Started

_SETTLE_AGAIN_S = 5.0
_MOST_UNASKED = 64
"""Reports of one node, about runs that no caller waits for, that are looked up at a time."""
Say = Callable[[NodeId, AnyFrame], Awaitable[None]]
"""Sends a frame to a node, if it is connected."""


@dataclass(slots=True, eq=False)
class Ordered:
    """A run that was ordered in a session, and the ending that is waited for."""

    node: NodeId
    session: str
    ending: "asyncio.Future[Ended | NotRun]"
    since: float = field(default_factory=time.monotonic)
    cancelled: bool = False
    started: bool = False


@dataclass(slots=True)
class Orders:
    """The runs of one gateway on nodes; ``runs`` are those of the store."""

    runs: NodeRuns
    say: Say
    notice_after_ms: Callable[[], int]
    _open: dict[ApprovalId, Ordered] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)
    _settling: dict[tuple[NodeId, ApprovalId], "asyncio.Task[None]"] = field(default_factory=dict)
    _rooms: dict[NodeId, asyncio.Semaphore] = field(default_factory=dict)
    _going: set[ApprovalId] = field(default_factory=set)
    _left_cancelled: set[ApprovalId] = field(default_factory=set)

    @contextmanager
    def waiting(self, run_id: ApprovalId, node_id: NodeId, session: str) -> Iterator[Ordered]:
        """Take the ending of a run for as long as the block lasts.

        Between its claim and its order it looks like one that an earlier gateway left there.
        """
        ending: asyncio.Future[Ended | NotRun] = asyncio.get_running_loop().create_future()
        ordered = self._open[run_id] = Ordered(node_id, session, ending)
        ordered.cancelled = run_id in self._left_cancelled
        self._left_cancelled.discard(run_id)
        try:
            yield ordered
        finally:
            del self._open[run_id]

    def running(self, node_id: NodeId) -> dict[ApprovalId, Ordered]:
        """Return what was ordered from a node and has not ended, on an earlier connection too."""
        return {id_: one for id_, one in self._open.items() if one.node == node_id}

    async def node_of(self, run_id: ApprovalId) -> NodeId | None:
        """Return the node of a run that has not ended, ``None`` if it runs on none.

        Raises:
            StoreError: the store cannot be read.
        """
        ordered = self._open.get(run_id)
        return await self.runs.node_of(run_id) if ordered is None else ordered.node

    def cancel(self, run_id: ApprovalId) -> None:
        """Record that a run is to end, for a node that is away now."""
        ordered = self._open.get(run_id)
        if ordered is None:
            self._left_cancelled.add(run_id)
        else:
            ordered.cancelled = True

    async def earlier(self, node_id: NodeId, session: str) -> dict[ApprovalId, bool]:
        """Return the runs ordered from a node before this session, and which are cancelled.

        Raises:
            StoreError: the store cannot be read.
        """
        left = await self.runs.left_on(node_id)
        found = {run_id: run_id in self._left_cancelled for run_id in left}
        for run_id, ordered in self.running(node_id).items():
            if ordered.session != session:
                found[run_id] = ordered.cancelled
        return found

    async def began(self, node_id: NodeId, start: Started) -> None:
        """Pass on that a run started; only the node that it was ordered from may say so."""
        ordered = self._open.get(start.run_id)
        if ordered is None:
            room = await self._room(node_id)
            self.soon(self._began_earlier(node_id, start, room))
        elif ordered.node == node_id and not ordered.started:
            ordered.started = True
            began = max(ordered.since, _began(start))
            self.soon(self._going_on(start.run_id, began, lambda: start.run_id in self._open))

    async def _began_earlier(
        self, node_id: NodeId, start: Started, room: asyncio.Semaphore
    ) -> None:
        """Pass on the start of a run that an earlier gateway ordered, once."""
        run_id = start.run_id
        try:
            is_its_own = await self.runs.node_of(run_id) == node_id
        except StoreError:
            return
        finally:
            room.release()
        if is_its_own and run_id not in self._going:
            self._going.add(run_id)
            try:
                await self._going_on(run_id, _began(start), lambda: True)
            finally:
                self._going.discard(run_id)

    async def _going_on(self, run_id: ApprovalId, began: float, still: Callable[[], bool]) -> None:
        """Pass on a start, and later that the run has passed the notice threshold."""
        await self.runs.started(run_id)
        await asyncio.sleep(began + self.notice_after_ms() / 1000 - time.monotonic())
        if still():
            await self.runs.running(run_id, round(time.monotonic() - began))

    async def ended(self, node_id: NodeId, ending: Ended | NotRun) -> None:
        """Pass an ending to its caller; only the node that the run was ordered from may end it."""
        ordered = self._open.get(ending.run_id)
        if ordered is None:
            room = await self._room(node_id)
            self.settle(node_id, ending).add_done_callback(lambda _: room.release())
        elif ordered.node == node_id and not ordered.ending.done():
            ordered.ending.set_result(ending)

    def forget(self, known: frozenset[NodeId]) -> None:
        """End the runs of nodes that are not among these, as runs whose end is unknown.

        A node that was revoked delivers nothing any more.
        """
        for run_id, ordered in self._open.items():
            if ordered.node not in known and not ordered.ending.done():
                unseen = Finished(run_id, None, None, Output(), duration_ms=0)
                ordered.ending.set_result(Ended(run_id=run_id, result=unseen))

    async def _room(self, node_id: NodeId) -> asyncio.Semaphore:
        """Wait until few reports of a node are being looked up; nothing is read from it until then.

        Otherwise, a node could invent runs as fast as it likes.
        """
        room = self._rooms.setdefault(node_id, asyncio.Semaphore(_MOST_UNASKED))
        await room.acquire()
        return room

    def settle(
        self, node_id: NodeId, ending: Ended | NotRun, after_s: float = 0
    ) -> "asyncio.Task[None]":
        """Have an ending stored, however long that takes; once, even if the node reconnects.

        ``after_s``: when to check first, because a waiting caller stores it about now.
        """
        of = node_id, ending.run_id
        task = self._settling.get(of)
        if task is None:
            task = asyncio.ensure_future(self._settled(node_id, ending, after_s))
            self._settling[of] = task
            task.add_done_callback(lambda _: self._settling.pop(of, None))
        return task

    async def _settled(self, node_id: NodeId, ending: Ended | NotRun, after_s: float) -> None:
        """Wait until an ending is stored, and notify its node."""
        await asyncio.sleep(after_s)
        while not await self.runs.settle(node_id, ending):  # noqa: ASYNC110 - no event
            await asyncio.sleep(_SETTLE_AGAIN_S)
        self._left_cancelled.discard(ending.run_id)
        await self.say(node_id, Noted(run_id=ending.run_id))

    def soon(self, work: Coroutine[object, object, None]) -> None:
        """Run something in the background."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _began(start: Started) -> float:
    """Return when a run began, by our monotonic clock and its node's report.

    The report may arrive long after that, if the link was lost in the meantime.
    """
    return time.monotonic() - start.age_ms / 1000

"""Let nodes connect, if the configuration says so.

Otherwise, the WebSocket library is not loaded for them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bot.settings import Settings
from bot.wiring.storage import Storage
from core.errors import JournalError, StoreError
from core.gate.journal import journal_records
from core.model.identity import ApprovalId
from core.model.node import Node, NodeId, PairingRequest
from core.nodes.frames import Auth, Ended, NotRun
from core.ports import Journal
from core.store import Store
from core.store.engine.wakeups import wakeups
from core.store.people import nodes
from core.store.people.nodes import CHANGED, PairingDraft
from core.store.runs import on_node, runs
from core.trust.identity import Identity

if TYPE_CHECKING:
    from core.hosts.node import NodeHost
    from core.nodes.fleet import Changes

_log = logging.getLogger(__name__)
_TRIES, _PAUSE_S = 300, 0.2
_NOTE_AGAIN_S = 0.5


@dataclass(frozen=True, slots=True)
class StoredNodes:
    """The paired nodes and the requests of a store (implements ``core.nodes.fleet.Directory``)."""

    store: Store

    async def admit(self, node_id: NodeId, token: str, address: str) -> Node | None:
        """Return a paired node that shows its token, ``None`` if it is not paired.

        Raises:
            BadRequest: it is paired with another token.
            StoreError: the store cannot be used.
        """
        return await self.store.write(nodes.admit, node_id, token, address)

    async def ask(self, auth: Auth, address: str) -> PairingRequest:
        """Record that a node wants to be paired.

        Raises:
            BadRequest: it may not ask now.
            StoreError: the store cannot be used.
        """
        draft = PairingDraft(NodeId(auth.node_id), auth.token, auth.name, address)
        return await self.store.write(nodes.request, draft)

    async def waits(self, node_id: NodeId) -> bool:
        """Return whether a node's request still waits for a person.

        Raises:
            StoreError: the store cannot be used.
        """
        return await self.store.read(nodes.waits, node_id)

    async def listed(self) -> tuple[Node, ...]:
        """Return the paired nodes.

        Raises:
            StoreError: the store cannot be used.
        """
        return await self.store.read(nodes.listed)

    def changes(self) -> "AbstractContextManager[Changes]":
        """Listen for changes of nodes and requests for as long as the block lasts."""
        return wakeups(self.store, CHANGED)


@dataclass(frozen=True, slots=True)
class StoredRuns:
    """The runs of nodes in a store (implements ``core.hosts.node.NodeRuns``)."""

    store: Store
    journal: Journal
    owner: str

    async def settle(self, node_id: NodeId, ending: Ended | NotRun) -> bool:
        """Return once the store has an ending; ``False`` if it cannot be stored now.

        A run that the store does not know is dropped: it is another node's, or not of this store.
        """
        try:
            for _ in range(_TRIES):
                run = await self.store.read(on_node.find, ending.run_id, node_id)
                if run is None or not run.is_open:
                    return True
                if run.owner != self.owner:
                    await self._finish(run.owner, ending)
                    return True
                await asyncio.sleep(_PAUSE_S)  # the caller that waits for it stores it
        except (StoreError, JournalError) as failure:
            _log.warning("the ending of run %s cannot be stored now: %s", ending.run_id, failure)
        return False

    async def left_on(self, node_id: NodeId) -> tuple[ApprovalId, ...]:
        """Return the runs that an earlier gateway left on a node and that have not ended.

        Raises:
            StoreError: the store cannot be read.
        """
        return await self.store.read(on_node.left_on, node_id, self.owner)

    async def node_of(self, run_id: ApprovalId) -> NodeId | None:
        """Return the node of a run that has not ended, ``None`` if it runs on none.

        Raises:
            StoreError: the store cannot be read.
        """
        return await self.store.read(on_node.node_of, run_id)

    async def started(self, run_id: ApprovalId) -> None:
        """Record that a node reports a start, as soon as the store can be written."""
        await self._written(runs.reported, run_id)

    async def running(self, run_id: ApprovalId, seconds: int) -> None:
        """Record that a run passed the notice threshold, as soon as the store can be written."""
        await self._written(runs.running, run_id, seconds)

    async def _written(self, note: Callable[..., bool], *values: object) -> None:
        """Write what no longer matters once the run has ended."""
        while True:
            with suppress(StoreError):
                await self.store.write(note, *values)
                return
            await asyncio.sleep(_NOTE_AGAIN_S)

    async def gone(self, node_id: NodeId) -> None:
        """Record when a node was last connected, if the store can be written now."""
        with suppress(StoreError):
            await self.store.write(nodes.left, node_id)

    async def _finish(self, owner: str, ending: Ended | NotRun) -> None:
        if isinstance(ending, NotRun):
            why = ending.why
            record: dict[str, object] = {"run": ending.run_id, "reason": ending.reason, "why": why}
            await self.journal.append("refuse", record)
            await self.store.write(runs.refuse, ending.run_id, ending.reason, why, owner)
            return
        await self.journal.append("finish", journal_records.finished(ending.result))
        await self.store.write(runs.finish, ending.run_id, ending.result, owner)


def node_host_of(settings: Settings, storage: Storage) -> "NodeHost | None":
    """Return the host ``node``, with no node connected yet; ``None`` if none may connect.

    Raises:
        StateError: a key file is unsafe, damaged, or cannot be made.
    """
    if not settings.nodes.enabled:
        return None
    from core.hosts.node import NodeHost  # noqa: PLC0415 - loaded where it is wanted only

    stored = StoredRuns(storage.store, storage.journal, storage.owner)
    key = Identity.load(settings.home).agent
    return NodeHost(key, StoredNodes(storage.store), stored)


@asynccontextmanager
async def open_to_nodes(settings: Settings, host: "NodeHost | None") -> AsyncIterator[None]:
    """Let nodes connect for as long as the block lasts, if they may.

    Raises:
        StateError: the address cannot listen.
    """
    if host is None:
        yield
        return
    from core.nodes.listener import listening  # noqa: PLC0415 - loaded where it is wanted only

    address, port = settings.nodes.address
    async with AsyncExitStack() as stack:
        fleet = host.fleet
        opened = await stack.enter_async_context(listening(address, port, host.key, fleet.serve))
        watching = asyncio.create_task(fleet.watch())
        stack.callback(watching.cancel)
        _log.info("nodes: %s:%s; the gateway's key is %s", address, opened, fleet.key)
        yield

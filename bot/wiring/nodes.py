"""Let nodes connect, where the configuration says so.

Where it does not, nothing of the WebSocket library is loaded for them.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from bot.settings import Settings
from core.model.node import Node, NodeId, PairingRequest
from core.nodes.fleet import Answering, Changes, Fleet
from core.nodes.frames import Auth
from core.nodes.listener import listening
from core.store import Store
from core.store.engine.wakeups import wakeups
from core.store.people import nodes
from core.store.people.nodes import CHANGED, PairingDraft
from core.trust.identity import Identity, key_id

_LOG = logging.getLogger(__name__)


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
        """Note that a node wants to be paired.

        Raises:
            BadRequest: it may not ask now.
            StoreError: the store cannot be used.
        """
        draft = PairingDraft(NodeId(auth.node_id), auth.token, auth.name, address)
        return await self.store.write(nodes.request, draft)

    async def listed(self) -> tuple[Node, ...]:
        """Return the paired nodes.

        Raises:
            StoreError: the store cannot be used.
        """
        return await self.store.read(nodes.listed)

    def changes(self) -> AbstractContextManager[Changes]:
        """Listen to changes of nodes and requests for as long as the block lasts."""
        return wakeups(self.store, CHANGED)


def fleet_of(settings: Settings, store: Store, answering: Answering) -> Fleet:
    """Return the nodes of a gateway; none is connected yet.

    Raises:
        StateError: a key file is unsafe, damaged, or cannot be made.
    """
    return Fleet(key_id(Identity.load(settings.home).agent), StoredNodes(store), answering)


@asynccontextmanager
async def open_to_nodes(settings: Settings, fleet: Fleet) -> AsyncIterator[int]:
    """Let nodes connect for as long as the block lasts; yields the port.

    Raises:
        StateError: the address cannot listen, or a key file cannot be used.
    """
    host, port = settings.nodes.address
    key = Identity.load(settings.home).agent
    async with AsyncExitStack() as stack:
        opened = await stack.enter_async_context(listening(host, port, key, fleet.serve))
        watching = asyncio.create_task(fleet.watch())
        stack.callback(watching.cancel)
        _LOG.info("nodes: %s:%s; the gateway's key is %s", host, opened, fleet.key)
        yield opened

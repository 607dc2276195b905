"""Run nodes and a gateway's listener in one process, over real TLS on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bot.wiring.nodes import StoredNodes
from core.model.node import NodeId
from core.nodes.backoff import Backoff
from core.nodes.fleet import Connection, Fleet
from core.nodes.frames import AnyFrame
from core.nodes.listener import listening
from core.nodes.member import GatewayConnection, Member
from core.nodes.node_file import begin, node_key
from core.store import Store
from core.store.people import nodes
from core.trust.identity import SigningKey, key_id, load_key


@dataclass
class Heard:
    """What either side received, in order; it does nothing else."""

    frames: list[AnyFrame] = field(default_factory=list)
    joins: list[Connection | GatewayConnection] = field(default_factory=list)
    leaves: int = 0

    async def joined(self, joined: Connection | GatewayConnection) -> None:
        """Record a connection."""
        self.joins.append(joined)

    async def heard(self, _joined: Connection | GatewayConnection, frame: AnyFrame) -> None:
        """Record a frame."""
        self.frames.append(frame)

    async def dismiss(self, _connection: Connection) -> None:
        """End nothing: nothing is running."""

    async def dismissed(self) -> None:
        """End nothing: nothing is running."""

    def forget(self, _known: frozenset[NodeId]) -> None:
        """Give up on nothing."""

    def left(self, _connection: Connection | None = None) -> None:
        """Record an end."""
        self.leaves += 1


@dataclass
class NodeGateway:
    """A gateway's side for nodes."""

    store: Store
    fleet: Fleet
    key: SigningKey
    port: int
    heard: Heard

    async def approved(self) -> None:
        """Allow the one node that waits, as soon as it does."""
        while not (asked := await self.store.read(nodes.requests)):
            await asyncio.sleep(0.01)
        await self.store.write(nodes.approve, asked[0].code, "uid:0")


@asynccontextmanager
async def node_gateway(home: Path, store: Store, port: int = 0) -> AsyncIterator[NodeGateway]:
    """Listen for nodes for as long as the block lasts."""
    home.mkdir(parents=True, exist_ok=True)
    key, heard = load_key(home / "gateway.key"), Heard()
    fleet = Fleet(key_id(key), StoredNodes(store), heard)
    watching = asyncio.create_task(fleet.watch())
    try:
        async with listening("127.0.0.1", port, key, fleet.serve) as opened:
            yield NodeGateway(store, fleet, key, opened, heard)
    finally:
        watching.cancel()


@dataclass
class RunningMember:
    """A node's side, and what it reported to its user."""

    member: Member
    heard: Heard
    said: list[str]
    task: asyncio.Task[None]


@asynccontextmanager
async def member_of(
    home: Path, port: int, key: str, name: str = "web"
) -> AsyncIterator[RunningMember]:
    """Run a node for as long as the block lasts."""
    home.mkdir(parents=True, exist_ok=True)
    said: list[str] = []
    file, heard = begin(home, name, f"127.0.0.1:{port}", key), Heard()
    member = Member(file, node_key(home), heard, said.append, Backoff(0.02))
    task = asyncio.create_task(member.run())
    try:
        yield RunningMember(member, heard, said, task)
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

"""Run a gateway's host and a node in one process: real planner, runner, TLS and store."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from bot.node.app import node
from bot.node.work import NodeWork
from bot.wiring.nodes import StoredNodes
from core.hosts.node import NodeHost
from core.hosts.node_orders import Ordered
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import AllowedBy
from core.model.identity import ApprovalId, Intake, Requester, SessionKey
from core.model.node import NodeId, NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.nodes.backoff import Backoff
from core.nodes.envelope import LIFE_MS, Order, sealed
from core.nodes.fleet import Connection
from core.nodes.frames import AnyFrame, Ended, NotRun, Prepare, Query, Run
from core.nodes.listener import listening
from core.nodes.member import GatewayConnection, Member
from core.nodes.node_file import begin
from core.store import Store
from core.store.people import nodes
from core.trust.identity import load_key
from core.trust.ids import new_id
from tests.support.runs import new_run
from tests.support.waiting import until

POLICY = ExecPolicy(host=ExecHost.NODE)


@dataclass
class Bench:
    """A gateway's host, a node in this process, and what the node reported."""

    host: NodeHost
    home: Path
    settled: list[Ended | NotRun]
    member: Member | None = None

    @property
    def connection(self) -> Connection:
        """Return the node's connection."""
        (node_id,) = self.host.fleet.connected
        found = self.host.fleet.connection(node_id)
        assert found is not None
        return found

    def approvals(self, **settings: object) -> None:
        """Write the node's approvals file for the agent main."""
        path = self.home / "exec-approvals.json"
        path.write_text(json.dumps({"version": 1, "agents": {"main": settings}}))
        path.chmod(0o600)

    async def plan(self, line: str) -> NodePlan:
        """Have the node bind a line."""
        found = await self.host.prepare(request(line), POLICY)
        assert isinstance(found, NodePlan), found
        return found

    async def prepared(self, asked: ExecRequest) -> AnyFrame:
        """Return the node's answer to a gateway that asks what an honest one might not."""
        frame = Prepare(id=new_id(), name="web", request=asked, timeout_ms=10_000)
        return await self.host._questions.ask(self.connection, frame, 10)

    async def node_says(self, text: str) -> None:
        """Have the node send a text to its gateway."""
        await (await self.joined()).link.socket.send(text)

    async def joined(self) -> GatewayConnection:
        """Return the node's own end of its connection."""
        assert self.member is not None
        work = cast("NodeWork", self.member.work)
        await until(lambda: work._joined)
        assert work._joined is not None
        return work._joined

    def expect(self, run_id: ApprovalId, node_id: str) -> "asyncio.Future[Ended | NotRun]":
        """Wait for the end of a run that was ordered from a node on an earlier connection."""
        ending: asyncio.Future[Ended | NotRun] = asyncio.get_running_loop().create_future()
        self.host._orders._open[run_id] = Ordered(NodeId(node_id), "5" * 32, ending)
        return ending

    def order(self, plan: ExecPlan, run_id: ApprovalId, **changes: object) -> Run:
        """Return a signed order in which something was changed before it was signed."""
        connection = self.connection
        values: dict[str, object] = {
            "digest": plan.digest,
            "node": connection.node.id,
            "session": connection.session,
            "run_id": run_id,
            "not_after_ms": time.time_ns() // 1_000_000 + LIFE_MS,
            "by": AllowedBy.POLICY,
            **changes,
        }
        return sealed(self.host.key, Order.model_validate(values), plan)

    async def says(self, frame: Run | Query) -> Ended | NotRun:
        """Send a frame and return the ending that the node then reports."""
        run_id = json.loads(frame.payload)["run_id"] if isinstance(frame, Run) else frame.run_id
        before = len(self.endings(run_id))
        await self.connection.link.send(frame)
        await until(lambda: len(self.endings(run_id)) > before)
        return self.endings(run_id)[-1]

    async def ignores(self, frame: Run) -> bool:
        """Send an order and then a question; return whether only the question was answered."""
        run_id, barrier = json.loads(frame.payload)["run_id"], new_run()
        await self.connection.link.send(frame)
        await self.connection.link.send(Query(run_id=barrier))
        await until(lambda: self.endings(barrier))
        return not self.endings(run_id)

    def endings(self, run_id: ApprovalId) -> list[Ended | NotRun]:
        """Return what the node reported about a run."""
        return [one for one in self.settled if one.run_id == run_id]


def request(line: str) -> ExecRequest:
    """Return a request of the agent main."""
    return ExecRequest(Requester(Intake.SOCKET, "uid:0"), SessionKey("main"), "/", line)


@dataclass
class NoRuns:
    """The runs of a store in which an earlier gateway left none; endings are kept."""

    settled: list[Ended | NotRun]

    async def settle(self, _node: NodeId, ending: Ended | NotRun) -> bool:
        """Keep an ending."""
        self.settled.append(ending)
        return True

    async def left_on(self, _node: NodeId) -> tuple[ApprovalId, ...]:
        """Return none."""
        return ()

    async def node_of(self, _run: ApprovalId) -> NodeId | None:
        """Return none."""
        return None

    async def started(self, _run: ApprovalId) -> None:
        """Let the report go."""

    async def running(self, _run: ApprovalId, _seconds: int) -> None:
        """Let the report go."""

    async def gone(self, _node: NodeId) -> None:
        """Let the report go."""


@asynccontextmanager
async def connected(host: NodeHost, home: Path, port: int) -> AsyncIterator[Member]:
    """Run the node of a home for as long as the block lasts."""
    async with node(home, lambda _words: None) as member:
        member.backoff = Backoff(0.02)
        task = asyncio.create_task(member.run())
        await until(lambda: host.fleet.connected)
        yield member
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until(lambda: not host.fleet.connected)


@asynccontextmanager
async def node_bench(
    folder: Path, store: Store, settings: dict[str, object] | None = None
) -> AsyncIterator[Bench]:
    """Run a gateway's host with a paired node that may run everything.

    ``settings`` are the node's own.
    """
    settled: list[Ended | NotRun] = []
    home = folder / "node"
    home.mkdir(mode=0o700)
    if settings is not None:
        (home / "config.json5").write_text(json.dumps(settings))
        (home / "config.json5").chmod(0o600)
    host = NodeHost(load_key(folder / "gateway.key"), StoredNodes(store), NoRuns(settled))
    async with listening("127.0.0.1", 0, host.key, host.fleet.serve) as port:
        file = begin(home, "web", f"127.0.0.1:{port}", host.fleet.key)
        draft = nodes.PairingDraft(NodeId(file.node_id), file.pairing_token, "web", "127.0.0.1")
        asked = await store.write(nodes.request, draft)
        await store.write(nodes.approve, asked.code, "uid:0")
        made = Bench(host, home, settled)
        made.approvals(security="full", ask="off")
        async with connected(host, home, port) as made.member:
            yield made

"""Run plans on another machine: the execution host ``node`` (S0 "Node host").

The node reads, resolves, binds and judges; the gateway judges the same plan by its own policy, and
what comes of both travels back signed. A run goes on when the link is lost: its ending is delivered
when the node is back, and until then nothing is guessed.
"""

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field, replace

from core.errors import HostUnavailable, LockedDown, PlanDrift, SaysoError, SpawnError, StoreError
from core.model.command import ExecOverrides, ExecPlan, ExecRequest
from core.model.decision import Basis, DenialReason
from core.model.identity import ApprovalId, Requester
from core.model.node import Node, NodeId, NodePlan
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished, LiveOutput, Output, OutputChunk
from core.model.stdio import Capture
from core.nodes.envelope import LIFE_MS, Order, sealed
from core.nodes.fleet import Connection, Directory, Fleet
from core.nodes.frames import (
    AnyFrame,
    BadFrame,
    Cancel,
    Ended,
    Noted,
    NotRun,
    Prepare,
    Prepared,
    Query,
    Underway,
    Unprepared,
)
from core.nodes.link import LinkLost
from core.nodes.selection import NoNode, select
from core.planning.digest import digest_of
from core.planning.planner import Refusal
from core.ports import RunWatcher
from core.trust.identity import SigningKey, key_id
from core.trust.ids import new_id

_LOG = logging.getLogger(__name__)
_PREPARE_S = 20.0
"""How long a node may read and bind a command."""
_DISMISS_S = 5.0
"""How long a revoked node may take to end what it runs."""
_MOST_TEXT, _MOST_TAIL = 200_000, 20_000
Settle = Callable[[NodeId, Ended | NotRun], Awaitable[bool]]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A run that was ordered in a session; ``lost_at`` is since when its node is away (epoch s)."""

    node: NodeId
    session: str
    ending: "asyncio.Future[Ended | NotRun]"
    lost_at: float | None = None
    cancelled: bool = False


@dataclass(slots=True)
class NodeHost:
    """The execution host ``node``. ``settle`` stores the ending of a run that nobody waits for.

    It returns once the store has the ending, or ``False`` where it cannot have it now.
    """

    key: SigningKey
    directory: Directory
    settle: Settle
    fleet: Fleet = field(init=False)
    _prepares: dict[tuple[NodeId, str], "asyncio.Future[Prepared | Unprepared]"] = field(
        default_factory=dict
    )
    _runs: dict[ApprovalId, _Waiting] = field(default_factory=dict)
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Hear the nodes."""
        self.fleet = Fleet(key_id(self.key), self.directory, self)

    @property
    def place(self) -> str:
        """Return the word that events show where no node is known."""
        return ExecHost.NODE.value

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold nothing: who may use a node is for policy and people."""
        del plan, requester
        return ""

    async def prepare(self, request: ExecRequest, policy: ExecPolicy) -> NodePlan | Refusal:
        """Have the node that is meant read, bind and judge a request; nothing runs."""
        if request.stdio.capture is not Capture.COMBINED:
            why = "a node returns one combined output, without a terminal"
            return Refusal(DenialReason.BAD_REQUEST, why)
        node = await self._meant(policy.node)
        if isinstance(node, NoNode):
            return _away(node.why)
        try:
            answer = await self._prepared(node, request, policy.timeout_ms)
        except (LinkLost, BadFrame) as failure:
            return _away(f"the node {node.name} does not answer: {failure}")
        if isinstance(answer, Unprepared):
            return Refusal(answer.reason, f"node {node.name}: {answer.why}")
        fault = _fault(answer.plan, node, request, policy)
        if fault:
            return _away(f"the node {node.name} returned a plan for something else: {fault}")
        return NodePlan(answer.plan, answer.verdict, answer.unasked)

    async def check(self, plan: ExecPlan) -> None:
        """Refuse what could not start now.

        Raises:
            HostUnavailable: the node is not connected.
        """
        self._connection(plan)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, watcher: RunWatcher) -> Finished:
        """Claim, order the run, and wait for its ending however long the node is away.

        Raises:
            HostUnavailable: the node is not connected, or it refused; nothing ran.
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started, or somebody else has the claim.
        """
        self._connection(plan)
        basis = await watcher.basis()
        if not await watcher.claim():
            raise SpawnError(f"run {run_id} could not be claimed, so nothing ran")
        connection = self._connection(plan)  # it may be another one by now
        node_id, loop = connection.node.id, asyncio.get_running_loop()
        waiting = _Waiting(node_id, connection.session, loop.create_future())
        self._runs[run_id] = waiting
        try:
            await self._order(connection, run_id, plan, basis)
            ending = await waiting.ending
        finally:
            del self._runs[run_id]
        self._settle_soon(node_id, ending)
        if isinstance(ending, NotRun):
            raise _failure(ending)
        return _bounded(ending.result)

    async def _order(
        self, connection: Connection, run_id: ApprovalId, plan: ExecPlan, basis: Basis
    ) -> None:
        """Send the order; whether it arrived is asked when a lost node is back.

        Raises:
            SpawnError: it is too large to be sent.
        """
        order = Order(
            digest=plan.digest,
            node=connection.node.id,
            session=connection.session,
            run_id=run_id,
            not_after_ms=time.time_ns() // 1_000_000 + LIFE_MS,
            by=basis.by,
            approvers=basis.people,
        )
        try:
            await connection.link.send(sealed(self.key, order, plan))
        except BadFrame as error:
            raise SpawnError(f"the order cannot be sent: {error}") from error
        except LinkLost:
            newer = self.fleet.connection(connection.node.id)
            if newer is not None and newer is not connection:
                await self._say(connection.node.id, Query(run_id=run_id))

    async def cancel(self, run_id: ApprovalId) -> bool:
        """End a running command, now or when its node is back; ``False`` if it does not run."""
        waiting = self._runs.get(run_id)
        if waiting is None:
            return False
        waiting.cancelled = True
        await self._say(waiting.node, Cancel(run_id=run_id))
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return since when the node of a run is away; ``None`` while it is there.

        A node reports its output when the run has ended (S0: aggregated output only).
        """
        waiting = self._runs.get(run_id)
        if waiting is None or waiting.lost_at is None:
            return None
        since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(waiting.lost_at))
        return LiveOutput(f"running (node unreachable since {since})", 0)

    async def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield nothing: a node reports its output when the run has ended."""
        del run_id
        return
        yield

    async def joined(self, connection: Connection) -> None:
        """Ask what became of the runs that this node was ordered on earlier connections.

        Of this one it is never asked: the question could overtake the order, and what is answered
        to it is final.

        Raises:
            LinkLost: it is gone already.
        """
        for run_id, waiting in tuple(self._runs.items()):
            if waiting.node == connection.node.id and waiting.session != connection.session:
                waiting.lost_at = None
                await connection.link.send(Query(run_id=run_id))
                if waiting.cancelled:
                    await connection.link.send(Cancel(run_id=run_id))

    async def heard(self, connection: Connection, frame: AnyFrame) -> None:
        """Handle one frame of a node.

        Raises:
            BadFrame: a node never says that.
        """
        match frame:
            case Prepared() | Unprepared():
                asked = self._prepares.get((connection.node.id, frame.id))
                if asked is not None and not asked.done():
                    asked.set_result(frame)
            case Ended() | NotRun():
                self._ended(connection.node.id, frame)
            case Underway():
                pass
            case _:
                raise BadFrame(f"a node does not say {frame.t}")

    def left(self, connection: Connection) -> None:
        """Note since when the runs of a node are out of sight, and end what it was asked."""
        if self.fleet.connection(connection.node.id) is not None:
            return  # a newer connection replaced it
        for waiting in self._runs.values():
            if waiting.node == connection.node.id:
                waiting.lost_at = time.time()
        for (node_id, _), asked in self._prepares.items():
            if node_id == connection.node.id and not asked.done():
                asked.set_exception(LinkLost("the connection ended"))

    async def dismiss(self, connection: Connection) -> None:
        """End what a revoked node runs, and wait for that, not for long.

        Raises:
            LinkLost: it is gone.
        """
        runs = {id_: run for id_, run in self._runs.items() if run.node == connection.node.id}
        for run_id in runs:
            await connection.link.send(Cancel(run_id=run_id))
        if runs:
            await asyncio.wait({run.ending for run in runs.values()}, timeout=_DISMISS_S)

    def forget(self, known: frozenset[NodeId]) -> None:
        """End the runs of nodes that are not among these as runs whose end nobody saw.

        A node that was revoked delivers nothing any more.
        """
        for run_id, waiting in self._runs.items():
            if waiting.node not in known and not waiting.ending.done():
                unseen = Finished(run_id, None, None, Output(), duration_ms=0)
                waiting.ending.set_result(Ended(run_id=run_id, result=unseen))

    def _connection(self, plan: ExecPlan) -> Connection:
        connection = self.fleet.connection(plan.node)
        if connection is None:
            name = plan.node_name or plan.node or "that was chosen"
            raise HostUnavailable(f"the node {name} is not connected, so nothing ran")
        return connection

    async def _meant(self, word: str | None) -> Node | NoNode:
        """Return the node that is meant, if it is connected."""
        try:
            node = select(word, await self.directory.listed())
        except StoreError as failure:
            return NoNode(f"the nodes cannot be looked up: {failure}")
        if isinstance(node, Node) and self.fleet.connection(node.id) is None:
            return NoNode(f"the node {node.name} is not connected")
        return node

    async def _prepared(
        self, node: Node, request: ExecRequest, timeout_ms: int
    ) -> Prepared | Unprepared:
        """Return what a node answers.

        Raises:
            LinkLost: it is gone, or takes too long.
            BadFrame: the request is too large to be sent.
        """
        connection = self.fleet.connection(node.id)
        if connection is None:
            raise LinkLost("it is not connected")
        key = (node.id, new_id())
        asked: asyncio.Future[Prepared | Unprepared]
        asked = self._prepares[key] = asyncio.get_running_loop().create_future()
        bare = replace(request, origin=None, request_key=None, overrides=ExecOverrides())
        try:
            async with asyncio.timeout(_PREPARE_S):
                frame = Prepare(id=key[1], name=node.name, request=bare, timeout_ms=timeout_ms)
                await connection.link.send(frame)
                return await asked
        except TimeoutError:
            raise LinkLost(f"nothing within {_PREPARE_S:.0f} s") from None
        finally:
            del self._prepares[key]

    def _ended(self, node_id: NodeId, ending: Ended | NotRun) -> None:
        """Hand an ending to whoever waits; only the node that was ordered the run may end it."""
        waiting = self._runs.get(ending.run_id)
        if waiting is None:
            self._settle_soon(node_id, ending)
        elif waiting.node == node_id and not waiting.ending.done():
            waiting.ending.set_result(ending)

    def _settle_soon(self, node_id: NodeId, ending: Ended | NotRun) -> None:
        task = asyncio.ensure_future(self._settled(node_id, ending))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _settled(self, node_id: NodeId, ending: Ended | NotRun) -> None:
        """Tell the node that its ending is stored; else it delivers it again."""
        if await self.settle(node_id, ending):
            await self._say(node_id, Noted(run_id=ending.run_id))

    async def _say(self, node_id: NodeId, frame: AnyFrame) -> None:
        connection = self.fleet.connection(node_id)
        if connection is not None:
            with contextlib.suppress(LinkLost):
                await connection.link.send(frame)


def _away(why: str) -> Refusal:
    return Refusal(DenialReason.HOST_UNAVAILABLE, why)


def _fault(plan: ExecPlan, node: Node, request: ExecRequest, policy: ExecPolicy) -> str:
    """Return what in a node's plan is not what was asked; empty if it is."""
    text = request.line
    bound = {
        "host": plan.host is ExecHost.NODE,
        "node": plan.node == node.id and plan.node_name == node.name,
        "command": plan.text == text if text is not None else _argv(plan) == request.argv,
        "agent": (plan.agent, plan.session, plan.task)
        == (request.agent, request.session, request.task),
        "environment": set(plan.requested_env) == {name for name, _ in request.env},
        "input": plan.stdio == request.stdio and plan.cpu_s == request.cpu_s,
        "timeout": plan.timeout_ms <= policy.timeout_ms,
        "digest": plan.digest == digest_of(plan),
    }
    return ", ".join(name for name, well in bound.items() if not well)


def _argv(plan: ExecPlan) -> tuple[str, ...]:
    return plan.commands[0].argv if len(plan.commands) == 1 else ()


_FAILURES: dict[DenialReason, type[SaysoError]] = {
    DenialReason.PLAN_DRIFT: PlanDrift,
    DenialReason.SPAWN_FAILED: SpawnError,
    DenialReason.LOCKED_DOWN: LockedDown,
}


def _failure(ending: NotRun) -> SaysoError:
    return _FAILURES.get(ending.reason, HostUnavailable)(ending.why)


def _bounded(result: Finished) -> Finished:
    """Return a result no longer than our own runner's; a node's word does not fill the store."""
    output = result.output
    short = replace(output, text=output.text[:_MOST_TEXT], tail=output.tail[-_MOST_TAIL:])
    return replace(result, output=short, streams=None)

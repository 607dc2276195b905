"""Run plans on another machine: the execution host ``node`` (S0 "Node host").

The node reads, resolves, binds and judges; the gateway judges the same plan by its own policy, and
the outcome of both travels back signed. A run continues when the link is lost: its ending is
delivered when the node is back, and until then nothing is guessed.
"""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from core.errors import BadRequest, CancelledFirst, HostUnavailable, SpawnError, StoreError
from core.hosts.failures import failure_of
from core.hosts.node_answers import NodeRuns, away, bounded, fault_of
from core.hosts.node_orders import Orders
from core.model.command import ExecOverrides, ExecPlan, ExecRequest
from core.model.decision import Basis, DenialReason
from core.model.identity import ApprovalId, Requester
from core.model.node import Node, NodeId, NodePlan, NodeState
from core.model.policy import ExecHost, ExecPolicy
from core.model.result import Finished, LiveOutput, OutputChunk
from core.model.stdio import Capture
from core.nodes.envelope import LIFE_MS, Order, sealed
from core.nodes.fleet import Connection, Directory, Fleet
from core.nodes.frames import (
    AnyFrame,
    BadFrame,
    Cancel,
    Ended,
    Invoked,
    NotInvoked,
    NotRun,
    Prepare,
    Prepared,
    Query,
    Skills,
    Started,
    Underway,
    Unprepared,
)
from core.nodes.link import LinkLost
from core.nodes.questions import Questions
from core.nodes.selection import NoNode, select
from core.planning.planner import Refusal
from core.ports import RunStart
from core.runner.require_claim import require_claim
from core.trust.identity import SigningKey, key_id
from core.trust.ids import new_id
from core.trust.passkeys import PasskeyProof

_ANSWER_S = 20.0
"""How long a node may take to read and bind a command, or do anything else it is asked."""
_STORED_AFTER_S = 0.1
"""When an ending that a caller waits for is usually stored, and its node may be notified."""
_NOTICE_MS = 10_000
_DISMISS_S = 5.0
"""How long a revoked node may take to end what it runs."""


@dataclass(slots=True)
class NodeHost:
    """The execution host ``node``, over the paired nodes and their runs in the store.

    ``skills`` returns the names of ``skills.bins``, ``notice_after_ms`` the threshold of
    ``Exec running``.
    """

    key: SigningKey
    directory: Directory
    runs: NodeRuns
    skills: Callable[[], tuple[str, ...]] = tuple
    notice_after_ms: Callable[[], int] = lambda: _NOTICE_MS
    fleet: Fleet = field(init=False)
    _questions: Questions = field(default_factory=Questions)
    _skills: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _orders: Orders = field(init=False)
    _away_since: dict[NodeId, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.time)

    def __post_init__(self) -> None:
        """Listen to the nodes."""
        self.fleet = Fleet(key_id(self.key), self.directory, self)
        self._orders = Orders(self.runs, self._say, self._notice_ms)

    def _notice_ms(self) -> int:
        return self.notice_after_ms()  # its value at that time

    @property
    def place(self) -> str:
        """Return the word that events show if no node is known."""
        return ExecHost.NODE.value

    def withheld(self, plan: ExecPlan, requester: Requester) -> str:
        """Withhold nothing: policy and people decide who may use a node."""
        del plan, requester
        return ""

    async def prepare(self, request: ExecRequest, policy: ExecPolicy) -> NodePlan | Refusal:
        """Have the named node read, bind and judge a request; nothing runs."""
        if request.stdio.capture is not Capture.COMBINED:
            why = "a node returns one combined output, without a terminal"
            return Refusal(DenialReason.BAD_REQUEST, why)
        node = await self._meant(policy.node)
        if isinstance(node, NoNode):
            return away(node.why)
        try:
            answer = await self._prepared(node, request, policy.timeout_ms)
        except (LinkLost, BadFrame) as failure:
            return Refusal(
                DenialReason.HOST_UNAVAILABLE, f"the node {node.name} does not answer: {failure}"
            )
        if isinstance(answer, Unprepared):
            return Refusal(answer.reason, f"node {node.name}: {answer.why}")
        fault = fault_of(answer, node, request, policy)
        if fault:
            return Refusal(
                DenialReason.HOST_UNAVAILABLE,
                f"the node {node.name} returned a plan for something else: {fault}",
            )
        return NodePlan(answer.plan, answer.verdict, answer.unasked)

    async def check(self, plan: ExecPlan) -> None:
        """Refuse what could not start now.

        Raises:
            HostUnavailable: the node is not connected.
        """
        self._connection(plan)

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Claim, order the run, and wait for its ending, however long the node is away.

        Raises:
            HostUnavailable: the node is not connected, or it refused; nothing ran.
            PlanDrift: what was approved is not what is there now; nothing ran.
            SpawnError: the command could not be started, or another caller has the claim.
            CancelledFirst: it was cancelled while it was being claimed; nothing ran.
        """
        self._connection(plan)
        basis = await start.basis()
        await require_claim(run_id, start)
        connection = self._connection(plan)  # it may be a different one by now
        node_id = connection.node.id
        with self._orders.waiting(run_id, node_id, connection.session) as ordered:
            if ordered.cancelled:
                raise CancelledFirst(f"run {run_id} was cancelled before it was ordered")
            await self._order(connection, run_id, plan, basis)
            ending = await ordered.ending
        self._orders.settle(node_id, ending, _STORED_AFTER_S)
        if isinstance(ending, NotRun):
            raise failure_of(ending.reason, ending.why)
        return ending.result

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
            not_after_ms=connection.now_ms() + LIFE_MS,
            by=basis.by,
            approvers=basis.people,
            proofs=tuple(PasskeyProof.model_validate_json(one) for one in basis.proofs),
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
        node_id = await self._orders.node_of(run_id)
        if node_id is None:
            return False
        self._orders.cancel(run_id)
        await self._say(node_id, Cancel(run_id=run_id))
        return True

    async def tail(self, run_id: ApprovalId) -> LiveOutput | None:
        """Return since when the node of a run has been away; ``None`` while it is connected.

        A node reports its output when the run has ended (S0: aggregated output only).
        """
        node_id = await self._orders.node_of(run_id)
        if node_id is None or self.fleet.connection(node_id) is not None:
            return None
        lost_at = self._away_since.get(node_id, self._since)
        since = time.strftime("%Y-%m-%d %H:%M:%SZ", time.gmtime(lost_at))
        return LiveOutput(f"running (node unreachable since {since})", 0)

    async def watch(self, run_id: ApprovalId) -> AsyncIterator[OutputChunk]:
        """Yield nothing: a node reports its output when the run has ended."""
        del run_id
        return
        yield

    async def joined(self, connection: Connection) -> None:
        """Ask what became of the runs that were ordered from this node on earlier connections.

        It is never asked about this connection's runs: the question could overtake the order, and
        its answer is final.

        Raises:
            LinkLost: it is gone already, or must reconnect because the store cannot be read.
        """
        await self._teach(connection)
        try:
            asked = await self._orders.earlier(connection.node.id, connection.session)
        except StoreError as failure:
            raise LinkLost(f"what it was ordered cannot be read: {failure}") from None
        for run_id, is_cancelled in asked.items():
            await connection.link.send(Query(run_id=run_id))
            if is_cancelled:
                await connection.link.send(Cancel(run_id=run_id))

    async def heard(self, connection: Connection, frame: AnyFrame) -> None:
        """Handle one frame of a node.

        Raises:
            BadFrame: a node never sends that.
        """
        match frame:
            case Prepared() | Unprepared() | Invoked() | NotInvoked():
                self._questions.answered(connection.node.id, frame)
            case Started():
                await self._orders.began(connection.node.id, frame)
            case Ended() | NotRun():
                await self._orders.ended(connection.node.id, bounded(frame))
            case Underway():
                pass
            case _:
                raise BadFrame(f"a node does not say {frame.t}")

    def left(self, connection: Connection) -> None:
        """Record since when a node's runs cannot be followed, and fail what it was asked."""
        if self.fleet.connection(connection.node.id) is not None:
            return  # a newer connection replaced it
        self._orders.soon(self.runs.gone(connection.node.id))
        self._away_since[connection.node.id] = time.time()
        self._questions.lost(connection.node.id)
        self._skills.pop(connection.session, None)

    async def dismiss(self, connection: Connection) -> None:
        """End what a revoked node runs, and wait a short time for that.

        Raises:
            LinkLost: it is gone.
        """
        runs = self._orders.running(connection.node.id)
        for run_id in runs:
            await connection.link.send(Cancel(run_id=run_id))
        if runs:
            await asyncio.wait({run.ending for run in runs.values()}, timeout=_DISMISS_S)

    def forget(self, known: frozenset[NodeId]) -> None:
        """End the runs of nodes that are not among these, as runs whose end is unknown."""
        self._orders.forget(known)

    async def invoke(
        self, node: Node, command: str, params: Mapping[str, JsonValue]
    ) -> dict[str, JsonValue]:
        """Have a node do what it advertises besides running commands, and return the result.

        Raises:
            HostUnavailable: it is not connected, does not answer, or failed.
            BadRequest: it does not accept the command, or refuses these params.
            Conflict: what was to be changed has changed.
        """
        connection = self.fleet.connection(node.id)
        if connection is None:
            raise HostUnavailable(f"The node {node.name} is not connected; nothing was done.")
        if command not in connection.caps:
            raise BadRequest(
                f"The node {node.name} does not advertise {command}; nothing was done."
            )
        try:
            return await self._questions.invoke(connection, command, params, _ANSWER_S)
        except (LinkLost, BadFrame) as failure:
            raise HostUnavailable(f"The node {node.name} does not answer: {failure}.") from None

    def state(self, node_id: NodeId) -> NodeState:
        """Return how a node is connected, and how much of it has not ended."""
        running = len(self._orders.running(node_id))
        found = self.fleet.connection(node_id)
        if found is None:
            return NodeState(running=running)
        return NodeState(found.since_ms, found.caps, running)

    def _connection(self, plan: ExecPlan) -> Connection:
        connection = self.fleet.connection(plan.node)
        if connection is None:
            name = plan.node_name or plan.node or "that was chosen"
            raise HostUnavailable(f"the node {name} is not connected, so nothing ran")
        return connection

    async def _meant(self, word: str | None) -> Node | NoNode:
        """Return the named node, if it is connected."""
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
            BadFrame: the request is too large to be sent, or the answer does not fit it.
        """
        connection = self.fleet.connection(node.id)
        if connection is None:
            raise LinkLost("it is not connected")
        await self._teach(connection)
        bare = replace(request, origin=None, request_key=None, overrides=ExecOverrides())
        frame = Prepare(id=new_id(), name=node.name, request=bare, timeout_ms=timeout_ms)
        answer = await self._questions.ask(connection, frame, _ANSWER_S)
        if not isinstance(answer, Prepared | Unprepared):
            raise BadFrame(f"{answer.t} is not an answer to prepare")
        return answer

    async def _teach(self, connection: Connection) -> None:
        """Send the names of ``skills.bins`` if they differ from those last sent.

        Raises:
            LinkLost: the node is gone.
        """
        names, session = self.skills(), connection.session
        if names != self._skills.get(session, ()):
            self._skills[session] = names
            await connection.link.send(Skills(bins=names))

    async def _say(self, node_id: NodeId, frame: AnyFrame) -> None:
        connection = self.fleet.connection(node_id)
        if connection is not None:
            with contextlib.suppress(LinkLost):
                await connection.link.send(frame)

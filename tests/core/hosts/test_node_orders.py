"""Decide who may say how a run on a node began and ended, and who is told."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

import pytest

from core.errors import StoreError
from core.hosts import node_orders
from core.hosts.node_orders import Orders
from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.nodes.frames import AnyFrame, Ended, Noted, Started
from tests.support.store_records import finished, new_id
from tests.support.waiting import until

WEB, OTHER = NodeId("ab" * 32), NodeId("cd" * 32)
SESSION, EARLIER = "5" * 32, "4" * 32


@dataclass
class KeptRuns:
    """A store's runs in memory: those that an earlier gateway left, and what was reported."""

    left: dict[ApprovalId, NodeId] = field(default_factory=dict)
    lost: bool = False
    told: list[tuple[str, ApprovalId]] = field(default_factory=list)

    async def settle(self, node_id: NodeId, ending: AnyFrame) -> bool:
        """Store an ending."""
        assert isinstance(ending, Ended)
        if self.left.get(ending.run_id) == node_id:
            self.told.append(("ended", ending.run_id))
            del self.left[ending.run_id]
        return True

    async def left_on(self, node_id: NodeId) -> tuple[ApprovalId, ...]:
        """Return what was left on a node."""
        return tuple(run_id for run_id, node in self.left.items() if node == node_id)

    async def node_of(self, run_id: ApprovalId) -> NodeId | None:
        """Return where it was left."""
        if self.lost:
            raise StoreError("the database is away")
        return self.left.get(run_id)

    async def started(self, run_id: ApprovalId) -> None:
        """Take the report of a start."""
        self.told.append(("started", run_id))

    async def running(self, run_id: ApprovalId, seconds: int) -> None:
        """Take the report that it takes long."""
        assert seconds >= 0
        self.told.append(("running", run_id))

    async def gone(self, _node: NodeId) -> None:
        """Let the report go."""


@dataclass
class Gateway:
    """The orders of one gateway; ``said`` is what its nodes get, ``notice_ms`` the threshold."""

    runs: KeptRuns = field(default_factory=KeptRuns)
    said: list[tuple[NodeId, AnyFrame]] = field(default_factory=list)
    notice_ms: int = 60_000
    orders: Orders = field(init=False)

    def __post_init__(self) -> None:
        """Make the orders."""
        self.orders = Orders(self.runs, self._say, lambda: self.notice_ms)

    async def _say(self, node_id: NodeId, frame: AnyFrame) -> None:
        self.said.append((node_id, frame))

    def left(self) -> ApprovalId:
        """Return a run that an earlier gateway left on the node web."""
        run_id = new_id()
        self.runs.left[run_id] = WEB
        return run_id


@pytest.fixture
async def gateway() -> Gateway:
    """Return a gateway that has ordered nothing yet."""
    return Gateway()


def _ended(run_id: ApprovalId, code: int = 0) -> Ended:
    return Ended(run_id=run_id, result=finished(run_id, code))


def _codes(endings: Iterable[object]) -> list[int | None]:
    return [one.result.exit_code for one in endings if isinstance(one, Ended)]


async def test_an_ending_counts_from_the_ordered_node_alone_and_once(gateway: Gateway) -> None:
    """Another node's report is let go, and so is a second one."""
    run_id = new_id()
    with gateway.orders.waiting(run_id, WEB, SESSION) as ordered:
        await gateway.orders.ended(OTHER, _ended(run_id, 1))
        assert not ordered.ending.done()
        await gateway.orders.ended(WEB, _ended(run_id, 2))
        await gateway.orders.ended(WEB, _ended(run_id, 3))

        assert _codes([await ordered.ending]) == [2]
    assert gateway.runs.told == []


async def test_an_ending_for_which_nobody_waits_is_stored_and_noted(gateway: Gateway) -> None:
    """Reported twice in the meantime, it is stored once; the node is told that it is stored."""
    run_id = gateway.left()
    await gateway.orders.ended(WEB, _ended(run_id))
    await gateway.orders.ended(WEB, _ended(run_id))
    await until(lambda: gateway.said)

    assert gateway.runs.told == [("ended", run_id)]
    assert gateway.said == [(WEB, Noted(run_id=run_id))]


async def test_a_run_is_where_it_was_ordered_or_left(gateway: Gateway) -> None:
    """An open order is known without the store; a run of this machine is on no node."""
    open_here, left = new_id(), gateway.left()
    with gateway.orders.waiting(open_here, OTHER, SESSION):
        assert await gateway.orders.node_of(open_here) == OTHER
        assert await gateway.orders.node_of(left) == WEB
        assert await gateway.orders.node_of(new_id()) is None
        assert set(gateway.orders.running(OTHER)) == {open_here}
        assert gateway.orders.running(WEB) == {}
    assert await gateway.orders.node_of(open_here) is None


async def test_a_node_that_is_back_hears_what_was_cancelled_meanwhile(gateway: Gateway) -> None:
    """Of runs before this session, whoever ordered them; not of those that it orders now."""
    kept, stopped, left, left_stopped = new_id(), new_id(), gateway.left(), gateway.left()
    with (
        gateway.orders.waiting(kept, WEB, EARLIER),
        gateway.orders.waiting(stopped, WEB, EARLIER),
        gateway.orders.waiting(new_id(), WEB, SESSION),
        gateway.orders.waiting(new_id(), OTHER, EARLIER),
    ):
        gateway.orders.cancel(stopped)
        gateway.orders.cancel(left_stopped)

        assert await gateway.orders.earlier(WEB, SESSION) == {
            kept: False,
            stopped: True,
            left: False,
            left_stopped: True,
        }


async def test_a_start_is_told_once_and_by_the_ordered_node_alone(gateway: Gateway) -> None:
    """A node that repeats it, after a lost link, adds nothing."""
    run_id = new_id()
    with gateway.orders.waiting(run_id, WEB, SESSION):
        await gateway.orders.began(OTHER, Started(run_id=run_id))
        await gateway.orders.began(WEB, Started(run_id=run_id))
        await gateway.orders.began(WEB, Started(run_id=run_id))
        await until(lambda: gateway.runs.told)
        await asyncio.sleep(0)

    assert gateway.runs.told == [("started", run_id)]


async def test_only_a_run_that_still_goes_on_is_said_to_take_long(gateway: Gateway) -> None:
    """After the threshold; one that ended before then reports no more."""
    gateway.notice_ms = 30
    long, short = new_id(), new_id()
    with gateway.orders.waiting(long, WEB, SESSION):
        with gateway.orders.waiting(short, WEB, SESSION):
            for run_id in (short, long):
                await gateway.orders.began(WEB, Started(run_id=run_id))
            await until(lambda: len(gateway.runs.told) == 2)
        await until(lambda: ("running", long) in gateway.runs.told)
        await asyncio.sleep(0.02)

    assert ("running", short) not in gateway.runs.told


async def test_the_threshold_counts_from_the_start_that_the_node_tells(gateway: Gateway) -> None:
    """The report of a left run may arrive long after it; that of an own one, never earlier."""
    left = gateway.left()
    await gateway.orders.began(WEB, Started(run_id=left, age_ms=gateway.notice_ms))
    await until(lambda: ("running", left) in gateway.runs.told)

    own = new_id()
    with gateway.orders.waiting(own, WEB, SESSION):
        await gateway.orders.began(WEB, Started(run_id=own, age_ms=10 * gateway.notice_ms))
        await until(lambda: ("started", own) in gateway.runs.told)
        await asyncio.sleep(0.02)
    assert ("running", own) not in gateway.runs.told


async def test_a_start_of_a_run_that_was_left_is_told_by_its_node_alone(gateway: Gateway) -> None:
    """Once while it runs, and never for a run that the store does not know."""
    left = gateway.left()
    for node in (OTHER, WEB, WEB):
        await gateway.orders.began(node, Started(run_id=left))
    await gateway.orders.began(WEB, Started(run_id=new_id()))
    await until(lambda: gateway.runs.told)
    await asyncio.sleep(0.02)

    assert gateway.runs.told == [("started", left)]


async def test_a_start_that_cannot_be_looked_up_is_let_go(gateway: Gateway) -> None:
    """More reports than are looked up at a time do not prevent the next one from being heard."""
    left = gateway.left()
    gateway.runs.lost = True
    for _ in range(2 * node_orders._MOST_UNASKED):
        await gateway.orders.began(WEB, Started(run_id=left))
    await asyncio.sleep(0.02)
    gateway.runs.lost = False
    await gateway.orders.began(WEB, Started(run_id=left))
    await until(lambda: gateway.runs.told)

    assert gateway.runs.told == [("started", left)]


async def test_runs_of_a_node_that_was_revoked_end_unseen(gateway: Gateway) -> None:
    """Without an exit code; the others, and ended ones, stay as they are."""
    lost, done, kept = new_id(), new_id(), new_id()
    with (
        gateway.orders.waiting(lost, WEB, SESSION) as of_lost,
        gateway.orders.waiting(done, WEB, SESSION) as of_done,
        gateway.orders.waiting(kept, OTHER, SESSION) as of_kept,
    ):
        await gateway.orders.ended(WEB, _ended(done, 3))
        gateway.orders.forget(frozenset({OTHER}))

        ended = [one.ending for one in (of_lost, of_done, of_kept) if one.ending.done()]
        assert _codes(one.result() for one in ended) == [None, 3]

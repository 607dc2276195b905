"""Carry out orders on a node: real planner, runner and TLS; each order has its control."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from bot.node.work import (
    MOST_OPEN,
    MOST_ORDERED,
    MOST_REFUSED,
    REFUSALS_PER_S,
    NodeWork,
)
from core.errors import HostUnavailable, PlanDrift, SpawnError
from core.hosts.gateway import GatewayHost
from core.model.command import AgentPart, AgentPartKind, ExecPlan
from core.model.decision import AllowedBy, Decision, DenialReason
from core.model.identity import ApprovalId
from core.model.node import NodePlan
from core.model.policy import ExecHost
from core.model.result import Finished
from core.model.stdio import Capture, Stdio
from core.nodes.frames import (
    AnyFrame,
    Cancel,
    Ended,
    Noted,
    NotRun,
    Prepared,
    Query,
    Unprepared,
)
from core.nodes.member import GatewayConnection, Member
from core.planning.digest import bind
from core.planning.planner import Refusal
from core.ports import RunStart
from core.runner.runner import Runner
from core.store import Store
from core.trust.identity import Identity
from tests.support.node_bench import POLICY, Bench, node_bench, request
from tests.support.runs import Start, marked, new_run
from tests.support.waiting import until


class Faulty:
    """Work that fails as no work should."""

    async def joined(self, joined: GatewayConnection) -> None:
        """Take the notice of the gateway."""

    async def heard(self, joined: GatewayConnection, frame: AnyFrame) -> None:
        """Fail."""
        raise RuntimeError("a fault of ours")

    def left(self) -> None:
        """Take the notice of the end."""

    async def dismissed(self) -> None:
        """Take the notice of the dismissal."""


class FaultyHost(GatewayHost):
    """A host that fails as no host should, before or after a run is claimed."""

    def __init__(self, runner: Runner, *, claims: bool) -> None:
        super().__init__(runner)
        self._claims = claims

    async def run(self, run_id: ApprovalId, plan: ExecPlan, start: RunStart) -> Finished:
        """Fail."""
        if self._claims:
            await start.claim()
        raise RuntimeError("a fault of ours")


async def test_prepared_ordered_and_ended(bench: Bench) -> None:
    """The control: the plan is the node's, and the run happens once."""
    found = await bench.plan("echo in; echo out")
    assert (found.plan.host, found.plan.node_name) == (ExecHost.NODE, "web")
    assert found.verdict.decision is Decision.ALLOW

    result = await bench.host.run(new_run(), found.plan, Start())
    assert (result.exit_code, result.output.text.splitlines()[-1]) == (0, "out")


async def test_a_run_id_never_runs_twice(bench: Bench, tmp_path: Path) -> None:
    """The same frame again, and a fresh order under the same id, report the first ending."""
    plan = (await bench.plan(f"mkdir {tmp_path}/once")).plan
    run_id = new_run()
    frame = bench.order(plan, run_id)
    first = await bench.says(frame)
    assert isinstance(first, Ended)
    assert first.result.exit_code == 0

    (tmp_path / "once").rmdir()
    assert await bench.says(frame) == first
    assert await bench.says(bench.order(plan, run_id)) == first
    assert await bench.says(Query(run_id=run_id)) == first
    assert not (tmp_path / "once").exists()
    control = await bench.says(bench.order(plan, new_run()))
    assert isinstance(control, Ended)
    assert (tmp_path / "once").is_dir()


@pytest.mark.parametrize("is_there", [True, False], ids=["damaged", "gone"])
async def test_a_damaged_file_of_a_run_ends_no_connection(bench: Bench, *, is_there: bool) -> None:
    """How the run ended is then unknown; the node takes orders as before.

    A person removes a file that is damaged, as its message says.
    """
    plan, run_id = (await bench.plan("true")).plan, new_run()
    await bench.says(bench.order(plan, run_id))
    noted = bench.home / "node-runs" / f"{run_id}.noted.json"
    await until(noted.exists)
    noted.write_text("{") if is_there else noted.unlink()
    first = bench.connection

    answer = await bench.says(Query(run_id=run_id))

    assert isinstance(answer, Ended)
    assert (answer.result.exit_code, answer.result.signal) == (None, None)
    assert bench.connection is first
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)


async def test_a_gateway_that_asks_without_end_is_read_no_further(bench: Bench) -> None:
    """Each request may hold mebibytes while it waits; once one is done, the next is read."""
    assert bench.member is not None
    work, link, slow = cast("NodeWork", bench.member.work), bench.connection.link, threading.Event()
    disk = ThreadPoolExecutor(1)  # what each request waits for
    asyncio.get_running_loop().set_default_executor(disk)
    disk.submit(slow.wait, 60)
    try:
        for _ in range(MOST_OPEN):
            await link.send(Noted(run_id=new_run()))
        assert isinstance(await bench.says(Query(run_id=new_run())), NotRun)
        late = new_run()
        await link.send(Noted(run_id=new_run()))
        await link.send(Query(run_id=late))
        await asyncio.sleep(0.1)
        assert (len(work._tasks), bench.endings(late)) == (MOST_OPEN, [])
    finally:
        slow.set()
    await until(lambda: bench.endings(late))


async def test_a_fault_of_ours_ends_no_node(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    """An unforeseen error is logged, and the node reconnects."""
    assert bench.member is not None
    work, bench.member.work = bench.member.work, Faulty()
    first = bench.connection
    await first.link.send(Query(run_id=new_run()))
    await until(lambda: "a fault of ours" in caplog.text)
    bench.member.work = work

    await until(lambda: bench.host.fleet.connected and bench.connection is not first)
    assert isinstance(await bench.says(Query(run_id=new_run())), NotRun)


@pytest.mark.parametrize("claims", [True, False])
async def test_a_fault_of_ours_is_an_ending(bench: Bench, *, claims: bool) -> None:
    """The gateway is told: begun, with an unknown end; or not begun."""
    work = cast("NodeWork", bench.member and bench.member.work)
    plan = (await bench.plan("true")).plan
    host, work.host = work.host, FaultyHost(Runner(), claims=claims)
    answer = await bench.says(bench.order(plan, new_run()))
    work.host = host

    if claims:
        assert isinstance(answer, Ended)
        assert (answer.result.exit_code, answer.result.signal) == (None, None)
    else:
        assert isinstance(answer, NotRun)
        assert "see the node's log" in answer.why
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)


async def test_two_orders_of_one_id_at_once_run_once(bench: Bench, tmp_path: Path) -> None:
    """Neither ends the other's run: the second is told that it is in progress."""
    plan = (await bench.plan(f"sh -c 'mkdir {tmp_path}/once && sleep 0.3'")).plan
    frame = bench.order(plan, new_run())
    await asyncio.gather(*(bench.connection.link.send(frame) for _ in range(5)))
    await until(lambda: bench.settled)
    await asyncio.sleep(0.3)
    codes = {one.result.exit_code for one in bench.settled if isinstance(one, Ended)}
    assert codes == {0}
    assert not [one for one in bench.settled if isinstance(one, NotRun)]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"node": "b" * 64}, "another node"),
        ({"session": "6" * 32}, "earlier connection"),
        ({"digest": "c" * 64}, "another plan"),
        ({"not_after_ms": 1_000}, "too late"),
        ({"by": AllowedBy.PEOPLE}, "who allowed"),
    ],
)
async def test_a_wrong_order_runs_nothing(
    bench: Bench, tmp_path: Path, changes: dict[str, object], why: str
) -> None:
    """Signed by the gateway, but not for this; the valid one then runs."""
    plan = (await bench.plan(f"mkdir {tmp_path}/ran")).plan
    refused = await bench.says(bench.order(plan, new_run(), **changes))
    assert isinstance(refused, NotRun)
    assert why in refused.why
    assert not (tmp_path / "ran").exists()
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)
    assert (tmp_path / "ran").exists()


async def test_a_forged_or_exchanged_order_is_not_even_answered(
    bench: Bench, tmp_path: Path
) -> None:
    """Another key's signature; and a valid order with another plan next to it is refused."""
    plan = (await bench.plan(f"mkdir {tmp_path}/ran")).plan
    good = bench.order(plan, new_run())
    forged = good.model_copy(update={"signature": Identity.new().agent.sign(b"x").hex()})
    assert await bench.ignores(forged)

    other = (await bench.plan(f"mkdir {tmp_path}/other")).plan
    for exchanged in (other, replace(other, digest=plan.digest)):
        refused = await bench.says(good.model_copy(update={"plan": exchanged}))
        assert isinstance(refused, NotRun)
    assert not list(tmp_path.glob("ran")) + list(tmp_path.glob("other"))
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)


async def test_a_plan_that_the_gateway_made_up_is_not_run(bench: Bench, tmp_path: Path) -> None:
    """An intact, signed one, whose command is judged by one vector and would start another."""
    plan = (await bench.plan("true")).plan
    command = (await bench.plan(f"mkdir {tmp_path}/ran")).plan.commands[0]
    for made_up in (
        replace(plan, commands=(replace(command, argv=plan.commands[0].argv),)),
        replace(plan, env=(*plan.env, ("LD_PRELOAD", "/tmp/evil.so"))),
    ):
        whole = bind(made_up)
        assert whole.digest != plan.digest
        refused = await bench.says(bench.order(whole, new_run()))
        assert isinstance(refused, NotRun)
        assert "did not make" in refused.why
    assert not (tmp_path / "ran").exists()
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)


async def test_an_order_of_an_earlier_connection_is_late(bench: Bench, tmp_path: Path) -> None:
    """A frame that was held back is useless once the node has reconnected."""
    plan = (await bench.plan(f"mkdir {tmp_path}/ran")).plan
    held, first = bench.order(plan, new_run()), bench.connection
    await first.link.close()
    await until(lambda: bench.host.fleet.connected and bench.connection is not first)
    refused = await bench.says(held)
    assert isinstance(refused, NotRun)
    assert "earlier connection" in refused.why
    assert not (tmp_path / "ran").exists()


async def test_what_the_node_asks_about_needs_people(bench: Bench, tmp_path: Path) -> None:
    """Allowed by the gateway's policy alone it does not run; allowed by people it does."""
    bench.approvals(security="allowlist", ask="on-miss")
    found = await bench.plan(f"mkdir {tmp_path}/ran")
    assert (found.verdict.decision, found.unasked) == (Decision.ASK, False)

    with pytest.raises(HostUnavailable, match="a person must allow it"):
        await bench.host.run(new_run(), found.plan, Start())
    refused = await bench.says(bench.order(found.plan, new_run(), by=AllowedBy.FALLBACK))
    assert isinstance(refused, NotRun)
    assert not (tmp_path / "ran").exists()
    people = {"by": AllowedBy.PEOPLE, "approvers": ("telegram:42",)}
    ended = await bench.says(bench.order(found.plan, new_run(), **people))
    assert isinstance(ended, Ended)
    assert (tmp_path / "ran").exists()


async def test_drift_and_a_failed_start_are_told_apart(bench: Bench, tmp_path: Path) -> None:
    """What changed after it was bound is drift, with the same words as on the gateway."""
    script = tmp_path / "job.sh"
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    plan = (await bench.plan(str(script))).plan
    script.write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(PlanDrift):
        await bench.host.run(new_run(), plan, Start())
    with pytest.raises(SpawnError, match="claimed"):
        await bench.host.run(new_run(), plan, Start(grants=False))


async def test_a_locked_down_node_runs_nothing(bench: Bench, tmp_path: Path) -> None:
    """The node's own lock, whatever the gateway says."""
    plan = (await bench.plan(f"mkdir {tmp_path}/ran")).plan
    (bench.home / "lockdown").write_text("{}")
    refused = await bench.says(bench.order(plan, new_run()))
    assert isinstance(refused, NotRun)
    assert refused.reason is DenialReason.LOCKED_DOWN
    assert not (tmp_path / "ran").exists()


async def test_a_cancelled_run_ends(bench: Bench) -> None:
    """TERM reaches the command on the node; an unknown run cannot be cancelled."""
    plan, run_id = (await bench.plan("sleep 30")).plan, new_run()
    running = asyncio.create_task(bench.host.run(run_id, plan, Start()))
    await until(lambda: marked(run_id))
    assert await bench.host.cancel(run_id)
    result = await asyncio.wait_for(running, 10)
    assert (result.cancelled, result.exit_code) == (True, None)
    assert not await bench.host.cancel(run_id)


async def test_a_cancel_that_arrives_with_its_order_counts(bench: Bench, tmp_path: Path) -> None:
    """The node reads both at once, and no host knows the run yet. Without it, the run starts."""
    found, link = await bench.plan(f"touch {tmp_path}/ran"), bench.connection.link
    stopped = new_run()
    await link.send(bench.order(found.plan, stopped))
    await link.send(Cancel(run_id=stopped))
    await until(lambda: bench.endings(stopped))
    (ending,) = bench.endings(stopped)
    assert isinstance(ending, NotRun)
    assert ending.reason is DenialReason.CANCELLED
    assert not (tmp_path / "ran").exists()

    assert isinstance(await bench.says(bench.order(found.plan, new_run())), Ended)
    assert (tmp_path / "ran").exists()


async def test_a_lost_link_is_said_and_the_ending_comes_back(bench: Bench, tmp_path: Path) -> None:
    """The node continues; the gateway says since when it is away, and guesses nothing."""
    plan, run_id = (await bench.plan(f"sh -c 'sleep 0.6; mkdir {tmp_path}/ran'")).plan, new_run()
    running = asyncio.create_task(bench.host.run(run_id, plan, Start()))
    await until(lambda: marked(run_id))
    assert await bench.host.tail(run_id) is None
    first = bench.connection
    first.link.socket.transport.abort()
    await until(lambda: bench.host.fleet.connection(first.node.id) is not first)
    away = await bench.host.tail(run_id)
    assert away is None or away.text.startswith("running (node unreachable since ")
    result = await asyncio.wait_for(running, 10)
    assert result.exit_code == 0
    assert (tmp_path / "ran").exists()


async def test_an_order_that_never_arrived_did_not_run(bench: Bench, tmp_path: Path) -> None:
    """Asked about an unknown id, the node says so; if it is in progress, it says that."""
    assert isinstance(await bench.says(Query(run_id=new_run())), NotRun)
    plan, run_id = (await bench.plan("sleep 0.5")).plan, new_run()
    await bench.connection.link.send(bench.order(plan, run_id))
    await bench.connection.link.send(Query(run_id=run_id))
    await until(lambda: len(bench.settled) == 2)
    assert isinstance(bench.settled[1], Ended)


async def test_separate_streams_and_terminals_are_refused(bench: Bench) -> None:
    """S0: aggregated output, no PTY."""
    for capture in (Capture.PTY, Capture.SEPARATE):
        asked = replace(request("echo x"), stdio=Stdio(capture=capture))
        found = await bench.host.prepare(asked, POLICY)
        assert isinstance(found, Refusal)
        assert found.reason is DenialReason.BAD_REQUEST


async def test_standard_input_reaches_the_command(bench: Bench) -> None:
    """It is part of the bound plan."""
    asked = replace(request("wc -c"), stdio=Stdio(stdin=bytes(range(256)) * 1000))
    found = await bench.host.prepare(asked, POLICY)
    assert isinstance(found, NodePlan)
    result = await bench.host.run(new_run(), found.plan, Start())
    assert result.output.text.strip() == "256000"
    assert bind(found.plan) == found.plan


@pytest.mark.parametrize("kind", list(AgentPartKind))
@pytest.mark.parametrize("sandbox", [False, True], ids=["runner", "sandbox"])
async def test_what_an_agent_does_itself_runs_on_no_node(
    tmp_path: Path, store: Store, kind: AgentPartKind, *, sandbox: bool
) -> None:
    """A prompt needs no list, so a lying gateway had any line let pass as one.

    The sandbox ran it, whatever the node's file said. The control is the line on its own, which the
    file's list decides; an order for a plan from before is refused as well.
    """
    made = tmp_path / "work"
    made.mkdir()
    lie = replace(request("/usr/bin/touch made"), cwd=str(made), part=AgentPart(kind, unasked=True))
    async with node_bench(tmp_path, store, {"node": {"sandbox": sandbox}}) as bench:
        bench.approvals(security="allowlist", ask="off")
        answer = await bench.prepared(lie)
        assert isinstance(answer, Unprepared)
        assert answer.reason is DenialReason.BAD_REQUEST
        honest = await bench.prepared(replace(lie, part=None))
        assert isinstance(honest, Prepared)
        assert honest.verdict.decision is Decision.DENY

        work = cast("NodeWork", cast("Member", bench.member).work)
        earlier = bind(replace(honest.plan, part=lie.part))
        work.judge.plans.note(earlier.digest)
        said = await bench.says(bench.order(earlier, new_run()))
        assert isinstance(said, NotRun)
        assert "which no node runs" in said.why
    assert not (made / "made").exists()


async def test_orders_that_are_refused_fill_no_disk(bench: Bench) -> None:
    """After a burst, the gateway is read slowly; each is answered, and none leaves a file."""
    plan, link = (await bench.plan("true")).plan, bench.connection.link
    before = len(list((bench.home / "node-runs").iterdir()))
    began = time.monotonic()
    for _ in range(MOST_REFUSED + 25):
        await link.send(bench.order(plan, new_run(), session="6" * 32))
    await until(lambda: len(bench.settled) >= MOST_REFUSED)
    await asyncio.sleep(0.3)
    answered, took = len(bench.settled), time.monotonic() - began
    under_way = 10  # orders that were read before those that ended counted
    assert answered <= MOST_REFUSED + under_way + REFUSALS_PER_S * took
    assert len(list((bench.home / "node-runs").iterdir())) == before

    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)


async def test_orders_without_end_are_not_all_held(bench: Bench) -> None:
    """Each holds its plan until it ends; the one beyond the bound is refused, and never runs."""
    assert bench.member is not None
    work = cast("NodeWork", bench.member.work)
    work._ordered.update(new_run() for _ in range(MOST_ORDERED))
    plan = (await bench.plan("true")).plan
    refused = await bench.says(bench.order(plan, new_run()))
    assert isinstance(refused, NotRun)
    assert "too many" in refused.why
    work._ordered.clear()
    assert isinstance(await bench.says(bench.order(plan, new_run())), Ended)

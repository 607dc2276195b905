"""Run a plan at its companion: there, once; and never end it with an invented result."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from core.companion.client import CompanionAddress
from core.companion.frames import NotRun, Ran, RunOrder
from core.companion.server import CompanionServer
from core.errors import HostUnavailable, PlanDrift, SpawnError
from core.hosts.companion import CompanionRunner
from core.ipc.peer import Peer
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.runner.runner import Runner
from tests.core.companion.desks import TOKEN, RecordingDesk, companion
from tests.support.runs import Start, new_run, planned, request

PLAN = planned(request(argv=("/bin/echo", "here")))


class Free:
    """A guard that lets everything run."""

    def check(self, plan: object) -> None:
        """Let it run."""


@dataclass
class Scripted:
    """A companion whose result a test sets."""

    outcome: Ran | NotRun | None
    refuses: str = ""
    orders: int = 0
    cancelled: bool = False

    def take(self, _order: RunOrder, _peer: Peer) -> str:
        """Count an order."""
        self.orders += 1
        return self.refuses

    async def run(self, order: RunOrder) -> Ran | NotRun:
        """End as scripted; without an outcome only when it is cancelled."""
        while self.outcome is None and not self.cancelled:
            await asyncio.sleep(0.01)
        ended = Finished(ApprovalId(order.id), None, 15, Output(), 1, cancelled=True)
        return self.outcome or Ran(result=ended)

    async def cancel(self, _order: RunOrder) -> None:
        """Record it."""
        self.cancelled = True

    def delivered(self, _order: RunOrder) -> None:
        """Keep nothing."""


@pytest.fixture
async def runner() -> AsyncIterator[Runner]:
    """Yield a runner."""
    made = Runner()
    await made.start()
    yield made
    await made.stop()


def made(
    runner: Runner, server: CompanionServer | None, *, known: bool = True, unasked: bool = False
) -> CompanionRunner:
    """Return the runner under test; without a server none listens."""
    path = Path("/nowhere.sock") if server is None else server.path
    address = CompanionAddress(path, TOKEN)
    return CompanionRunner(runner, lambda: address, lambda _: known, lambda _: unasked, Free())


async def test_it_runs_at_the_companion(runner: Runner) -> None:
    """Once, after the claim; the result is the companion's."""
    run_id = new_run()
    works = Scripted(Ran(result=Finished(run_id, 7, None, Output("there", "there", 5), 1)))
    async with companion(RecordingDesk()) as server:
        server.works = works
        result = await made(runner, server).run(run_id, PLAN, Start())
    assert (result.exit_code, result.output.text, works.orders) == (7, "there", 1)


async def test_without_a_setting_it_runs_here(runner: Runner) -> None:
    """The control: no address, no companion."""
    own = CompanionRunner(runner, lambda: None, lambda _: True, lambda _: False, Free())
    assert (await own.run(new_run(), PLAN, Start())).output.text == "here\n"


@pytest.mark.parametrize("known", [True, False])
async def test_who_is_not_there_or_not_known_is_not_asked(runner: Runner, *, known: bool) -> None:
    """Denied, with nothing claimed; if askFallback lets it run it runs here."""
    works = Scripted(None)
    async with companion(RecordingDesk()) as listens:
        listens.works = works
        server = None if known else listens
        with pytest.raises(HostUnavailable, match="it is missing"):
            await made(runner, server, known=known).run(new_run(), PLAN, Start())
        result = await made(runner, server, known=known, unasked=True).run(new_run(), PLAN, Start())
    assert (result.output.text, works.orders) == ("here\n", 0)


async def test_a_claim_that_is_not_ours_orders_nothing(runner: Runner) -> None:
    """Another client has it."""
    works = Scripted(None)
    async with companion(RecordingDesk()) as server:
        server.works = works
        with pytest.raises(SpawnError, match="claimed"):
            await made(runner, server).run(new_run(), PLAN, Start(grants=False))
    assert works.orders == 0


async def test_a_refusal_is_no_run_and_a_reason_is_kept(runner: Runner) -> None:
    """Refused means that nothing ran; drift there is drift here."""
    async with companion(RecordingDesk()) as server:
        server.works = Scripted(None, "a run of this id was taken before")
        with pytest.raises(SpawnError, match="taken before"):
            await made(runner, server).run(new_run(), PLAN, Start())
        server.works = Scripted(NotRun(reason=DenialReason.PLAN_DRIFT, why="it changed"))
        with pytest.raises(PlanDrift, match="it changed"):
            await made(runner, server).run(new_run(), PLAN, Start())


async def test_a_companion_that_dies_leaves_an_end_that_nobody_saw(runner: Runner) -> None:
    """No code is invented, and nothing is ordered again."""
    works = Scripted(None)
    async with companion(RecordingDesk()) as server:
        server.works = works
        running = asyncio.create_task(made(runner, server).run(new_run(), PLAN, Start()))
        while not works.orders:
            await asyncio.sleep(0.01)
        await server.close()
        result = await asyncio.wait_for(running, 10)
    assert (result.exit_code, result.signal, works.orders) == (None, None, 1)


async def test_a_cancelled_run_ends_there(runner: Runner) -> None:
    """The cancellation reaches the companion; a missing run is not known."""
    works, run_id = Scripted(None), new_run()
    async with companion(RecordingDesk()) as server:
        server.works = works
        own = made(runner, server)
        running = asyncio.create_task(own.run(run_id, PLAN, Start()))
        while not works.orders:
            await asyncio.sleep(0.01)
        assert await own.cancel(run_id)
        assert (await asyncio.wait_for(running, 10)).cancelled
        assert not await own.cancel(run_id)

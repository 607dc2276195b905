"""Set the clock of PostgreSQL's own machine: the gateways undo the step."""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, func, select, text

from core.store import Store, approvals, open_store
from core.store.engine import replicas
from core.store.engine.clock import now_ms
from core.store.engine.postgres import wall_clock
from core.store.engine.postgres.store import open_postgres
from core.store.schema.tables import clock
from tests.faults.stepped_gateways import faked, set_clock
from tests.support.pace import slowness
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.store_records import MINUTE, draft

HOUR, DAY = 3_600, 86_400
TIMEOUT_MS = 2_000
LATE_MS = 2_000


@dataclass(frozen=True, slots=True)
class SteppedServer:
    """A PostgreSQL server whose wall clock a test sets."""

    server: PostgresServer
    offset: Path

    async def step(self, seconds: int) -> None:
        """Set its clock off the true time, and check that it is."""
        set_clock(self.offset, seconds)
        told = "SELECT extract(epoch FROM clock_timestamp())::float8 AS s"
        (row,) = await asyncio.to_thread(self.server.run, told)
        assert abs(row["s"] - time.time() - seconds) < 60


@pytest.fixture(scope="module")
def stepped_server() -> Iterator[SteppedServer]:
    """Yield a server under libfaketime."""
    folder = Path(tempfile.mkdtemp(prefix="spgo", dir="/tmp"))
    folder.chmod(0o755)  # the server has its own user
    offset = folder / "offset"
    set_clock(offset, 0)
    with pytest.MonkeyPatch.context() as environ:
        for name, value in faked(offset).items():
            environ.setenv(name, value)
        running = running_postgres()
        server = running.__enter__()
    try:
        yield SteppedServer(server, offset)
    finally:
        running.__exit__(None, None, None)
        shutil.rmtree(folder)


@asynccontextmanager
async def sweeping(url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Open two gateways' stores that constantly end what is due, and beat."""
    stores = await open_store(url), await open_store(url)
    over = asyncio.Event()

    async def sweep(store: Store, name: str) -> None:
        while not over.is_set():
            await store.write(approvals.expire_due)
            await store.write(replicas.heartbeat, name, replicas.LEASE_MS)
            await asyncio.sleep(0.02)

    async with asyncio.TaskGroup() as group:
        for number, store in enumerate(stores):
            group.create_task(sweep(store, f"g{number}"))
        try:
            yield stores
        finally:
            over.set()
    for store in stores:
        await store.close()


async def ends_after(store: Store, server: SteppedServer, step: int) -> tuple[float, int]:
    """Ask, step while the question waits; return how many ms it had at most, and how late it is."""
    before = time.monotonic()
    question = draft(timeout_ms=TIMEOUT_MS)
    await store.write(approvals.create, question)
    await asyncio.sleep(0.5)
    await server.step(step)
    async with asyncio.timeout(60):
        while True:
            found = await store.read(approvals.get, question.id)
            assert found is not None
            if found.resolution is not None:
                late = found.resolution.at_ms - found.deadline_ms
                return (time.monotonic() - before) * 1000, late
            await asyncio.sleep(0.01)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.timeout(240)
async def test_steps_of_the_server_move_no_deadline(stepped_server: SteppedServer) -> None:
    """An hour and a day, forward and back, under two gateways that sweep and beat all the time."""
    url = await asyncio.to_thread(stepped_server.server.create)
    async with sweeping(url) as (first, second):
        for step, store in ((HOUR, first), (0, second), (-DAY, first), (0, second)):
            most, late = await ends_after(store, stepped_server, step)
            assert most >= TIMEOUT_MS, "a question ended early"
            assert late <= LATE_MS * slowness(), "a deadline was missed"
            assert most <= TIMEOUT_MS + 20_000, "the clock stood still"
            assert {"g0", "g1"} == set(await store.read(replicas.alive))


@pytest.mark.timeout(120)
async def test_without_the_look_a_question_ends_early(
    stepped_server: SteppedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the server's clock is believed, and an hour forward ends what waits."""
    monkeypatch.setattr(wall_clock, "SLACK_MS", 10**12)
    url = await asyncio.to_thread(stepped_server.server.create)
    question = draft(timeout_ms=10 * MINUTE)
    async with sweeping(url) as (store, _):
        await store.write(approvals.create, question)
        await stepped_server.step(HOUR)
        async with asyncio.timeout(30):
            while (found := await store.read(approvals.get, question.id)) is not None:
                if found.resolution is not None:
                    break
                await asyncio.sleep(0.05)
        await stepped_server.step(0)


@pytest.mark.timeout(120)
@pytest.mark.parametrize("waits", [True, False])
async def test_a_start_at_which_nothing_waits_believes_the_server(
    stepped_server: SteppedServer, *, waits: bool
) -> None:
    """An open question keeps its whole time over a restart; without one, the true time counts."""
    url = await asyncio.to_thread(stepped_server.server.create)
    async with sweeping(url) as (store, _):
        if waits:
            await store.write(approvals.create, draft(timeout_ms=10 * MINUTE))
        begun = await store.read(now_ms)
        await stepped_server.step(HOUR)
        assert await store.read(now_ms) - begun < MINUTE
    await asyncio.to_thread(stepped_server.server.run, "DELETE FROM replicas", url)
    store = await open_store(url)
    again = await store.read(now_ms)
    ended = await store.write(approvals.expire_due)
    await store.close()
    await stepped_server.step(0)
    assert ended == ()
    assert (again - begun < MINUTE) is waits


def _marked(conn: Connection) -> int:
    return int(conn.execute(text("SELECT high_ms FROM clock")).scalar_one())


@pytest.mark.timeout(120)
async def test_a_gateway_that_stood_still_believes_the_others(postgres_url: str) -> None:
    """Its own steady clock lost ten minutes (a stopped virtual machine): nothing is undone."""
    lost = 0

    def steady() -> int:
        return time.monotonic_ns() // 1_000_000 - lost

    awake, stopped = await open_store(postgres_url), await open_postgres(postgres_url, steady)
    try:
        begun = await awake.read(now_ms)
        async with asyncio.timeout(30):
            while await stopped.read(_marked) < begun:
                await asyncio.sleep(0.1)
        lost = 10 * MINUTE
        assert await stopped.read(now_ms) > begun
        apart = await stopped.read(now_ms) - await awake.read(now_ms)
        assert abs(apart) < 2_000
    finally:
        await awake.close()
        await stopped.close()


async def passed(server: SteppedServer) -> tuple[float, float]:
    """Set the clock an hour back just after its mark was saved, while asking for the time.

    Returns how many ms passed by the store's clock, and how many truly.
    """
    store = await open_postgres(await asyncio.to_thread(server.server.create))
    try:
        begun, before = await store.read(now_ms), time.monotonic()
        await store.write(store._followed.mark)
        await server.step(-HOUR)
        for _ in range(60):
            now = await store.read(now_ms)
            await asyncio.sleep(0.05)
        return now - begun, (time.monotonic() - before) * 1000
    finally:
        await store.close()
        await server.step(0)


@pytest.mark.timeout(120)
async def test_a_step_back_right_after_a_mark_does_not_stop_the_clock(
    stepped_server: SteppedServer,
) -> None:
    """The mark hides such a step at first: the time is where it was a moment ago."""
    stored, truly = await passed(stepped_server)
    assert abs(stored - truly) < wall_clock.SLACK_MS


@pytest.mark.timeout(120)
async def test_a_clock_that_is_judged_by_its_mark_stands_still(
    stepped_server: SteppedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the comparison uses the time that the mark holds up."""
    by_mark = select(func.sayso_now(), clock.c.high_ms, clock.c.offset_ms).where(clock.c.id == 1)
    monkeypatch.setattr(wall_clock, "_ASK", by_mark)
    stored, truly = await passed(stepped_server)
    assert stored < truly / 2

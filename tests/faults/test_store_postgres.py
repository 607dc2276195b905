"""Stop PostgreSQL, step its clock, lose callers: nothing acknowledged is lost."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.util import await_only

from core.errors import StoreError
from core.model.approval import ApprovalState
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.result import Denied
from core.store import Store, approvals, open_store
from core.store.approvals import idempotency
from core.store.runs import outcomes, recovery, runs
from core.store.schema.records import RunDraft
from tests.support.postgres import PostgresServer, running_postgres
from tests.support.store_records import ALICE, HALF_HOUR, MINUTE, ONCE, draft, new_id, run_draft

NOTHING_RAN = (DenialReason.SPAWN_FAILED, "nothing ran")


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """Yield a server that a test may stop."""
    with running_postgres() as server:
        yield server


@pytest.fixture
async def replicas(postgres_url: str) -> AsyncIterator[tuple[Store, Store]]:
    """Yield two gateways on one database."""
    first, second = await open_store(postgres_url), await open_store(postgres_url)
    yield first, second
    await first.close()
    await second.close()


async def test_one_replica_hears_what_the_other_commits(replicas: tuple[Store, Store]) -> None:
    """Created here, answered there: both are woken, within a second, once each."""
    here, there = replicas
    heard_here: list[str] = []
    heard_there: list[str] = []
    here.subscribe(heard_here.append)
    there.subscribe(heard_there.append)
    question = draft()
    await here.write(approvals.create, question)
    await there.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    await _until(lambda: f"run:{question.id}" in heard_here)
    await _until(lambda: "outbox" in heard_there)
    assert heard_here.count(f"run:{question.id}") == 1
    assert heard_there.count(f"run:{question.id}") == 1


async def test_a_long_session_key_still_commits(replicas: tuple[Store, Store]) -> None:
    """A wake-up that PostgreSQL would refuse for its length is cut, not the transaction."""
    here, _ = replicas
    assert await here.write(runs.begin, run_draft(session="é" * 9_000))


async def test_only_a_dead_replica_loses_its_runs(replicas: tuple[Store, Store]) -> None:
    """A beating owner keeps its run; a new owner without a beat is given a minute."""
    here, there = replicas
    run = run_draft(owner="here")
    await here.write(runs.begin, run)
    assert await there.write(recovery.recover, "there") == ()


async def test_a_claim_whose_commit_is_late_is_given_up(replicas: tuple[Store, Store]) -> None:
    """Its caller lost the connection, the COMMIT gets through later: the run is closed."""
    here, there = replicas
    claim = LateClaim(run_draft(owner="here"))
    claiming = asyncio.ensure_future(here.write(claim.take))
    await claim.taken.wait()
    giving_up = asyncio.ensure_future(there.write(runs.abandon, claim.run.id, *NOTHING_RAN, "here"))
    while not await here.read(_is_blocked):
        await asyncio.sleep(0.02)
    claim.commit.set()

    assert await claiming
    assert await giving_up
    assert await there.read(outcomes.outcome, claim.run.id) == Denied(claim.run.id, *NOTHING_RAN)


async def test_who_does_not_wait_for_the_commit_leaves_the_run_open(
    replicas: tuple[Store, Store],
) -> None:
    """The negative control: a refusal alone finds nothing, and the run stays started forever."""
    here, there = replicas
    claim = LateClaim(run_draft(owner="here"))
    claiming = asyncio.ensure_future(here.write(claim.take))
    await claim.taken.wait()
    assert not await there.write(runs.refuse, claim.run.id, *NOTHING_RAN, "here")
    claim.commit.set()

    assert await claiming
    assert await there.read(outcomes.outcome, claim.run.id) is None


async def test_a_caller_that_gives_up_does_not_undo(replicas: tuple[Store, Store]) -> None:
    """Cancelled in the middle: the transaction ends as a whole and the pool stays sound."""
    here, _ = replicas
    for _ in range(12):  # more than the pool holds
        run = run_draft()
        waiting = asyncio.ensure_future(here.write(runs.begin, run))
        await asyncio.sleep(0.001)
        waiting.cancel()
        await asyncio.gather(waiting, return_exceptions=True)
        await here.write(runs.identify, run.id, 1, 1, 1, "b")
    assert await here.write(runs.begin, run_draft())


async def test_a_database_clock_that_steps_back_extends_nothing(postgres_url: str) -> None:
    """The host of the database is set back an hour: the open prompt still expires in time."""
    store = await open_store(postgres_url)
    await store.write(_stepping_clock)
    await asyncio.sleep(1.2)  # the keeper has seen the time
    question = draft(timeout_ms=3_000)
    await store.write(approvals.create, question)
    await store.write(_step_back)
    await asyncio.sleep(4.2)
    late = await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    await store.close()
    assert late is not None
    assert late.approval.resolution is not None
    assert late.approval.resolution.state is ApprovalState.EXPIRED


async def test_an_immediate_restart_loses_nothing_acknowledged(own_server: PostgresServer) -> None:
    """Three crashes under load: every in-doubt call is settled by repeating it."""
    store = await open_store(await asyncio.to_thread(own_server.create))
    heard: list[str] = []
    store.subscribe(heard.append)
    acked: dict[str, ApprovalId] = {}
    done = asyncio.Event()

    async def client(number: int) -> None:
        count = 0
        while not done.is_set():
            count += 1
            key = f"{number}-{count}"
            made = await _settled(store, approvals.create, draft(key=key, timeout_ms=HALF_HOUR))
            one = made.approval.id
            answer = await _settled(
                store, approvals.answer, approvals.Ballot(one, ONCE, ALICE, f"in:{key}")
            )
            assert answer.won, "the retry of a winner was told that it lost"
            acked[key] = one

    async with asyncio.TaskGroup() as group:
        for number in range(4):
            group.create_task(client(number))
        for _ in range(3):
            await _more_than(len(acked) + 5, acked)
            await asyncio.to_thread(own_server.stop_at_once)
            await asyncio.to_thread(own_server.start)
        await _more_than(len(acked) + 5, acked)
        done.set()
    await _until(lambda: "resync" in heard)
    assert len(acked) > 20
    for key, one in acked.items():
        found = await store.read(approvals.get, one)
        assert found is not None
        assert found.resolution is not None
        assert found.resolution.state is ApprovalState.ALLOWED
        assert await store.read(idempotency.by_request_key, key) == one
    await store.close()


async def test_a_server_that_is_gone_is_a_store_error(own_server: PostgresServer) -> None:
    """Neither an open store nor a new one raises anything raw, and the password stays hidden."""
    url = await asyncio.to_thread(own_server.create)
    store = await open_store(url)
    await asyncio.to_thread(own_server.stop_at_once)
    try:
        with pytest.raises(StoreError):
            await store.write(approvals.create, draft())
        with pytest.raises(StoreError, match="Nothing runs") as caught:
            await open_store(url.replace("postgres@", "postgres:secret@"))
        assert "secret" not in str(caught.value)
        await store.close()
    finally:
        await asyncio.to_thread(own_server.start)


async def test_a_deadlock_is_repeated_not_reported(replicas: tuple[Store, Store]) -> None:
    """Two transactions that lock in opposite order both succeed."""
    here, there = replicas
    first, second = draft(timeout_ms=MINUTE), draft(timeout_ms=MINUTE)
    for question in (first, second):
        await here.write(approvals.create, question)
    done = await asyncio.gather(
        here.write(_lock_both, first.id, second.id), there.write(_lock_both, second.id, first.id)
    )
    assert list(done) == [True, True]


async def _settled(store: Store, op: Callable[..., Any], *args: Any) -> Any:
    """Repeat a call until it is settled, as a caller with an idempotency key does."""
    while True:
        try:
            return await store.write(op, *args)
        except approvals.CodeTaken:
            args = (draft(new_id(), key=args[0].request_key, timeout_ms=HALF_HOUR),)
        except StoreError:
            await asyncio.sleep(0.05)


async def _more_than(number: int, acked: dict[str, ApprovalId]) -> None:
    await _until(lambda: len(acked) > number)


async def _until(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not true():
        assert time.monotonic() < until, "it did not come within 20 s"
        await asyncio.sleep(0.01)


@dataclass(frozen=True, slots=True)
class LateClaim:
    """A claim whose transaction commits when allowed."""

    run: RunDraft
    taken: asyncio.Event = field(default_factory=asyncio.Event)
    commit: asyncio.Event = field(default_factory=asyncio.Event)

    def take(self, conn: Connection) -> bool:
        """Claim the run, and wait before the commit."""
        begun = runs.begin(conn, self.run)
        self.taken.set()
        await_only(self.commit.wait())
        return begun


def _is_blocked(conn: Connection) -> bool:
    """Return whether a transaction waits for the end of another."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'transactionid'"
    return conn.execute(text(waiting)).first() is not None


def _stepping_clock(conn: Connection) -> None:
    conn.execute(text("CREATE TABLE step AS SELECT 0::bigint AS ms"))
    conn.execute(
        text(
            "CREATE OR REPLACE FUNCTION sayso_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$ "
            "SELECT GREATEST((extract(epoch FROM clock_timestamp()) * 1000)::bigint "
            "- (SELECT ms FROM step), (SELECT high_ms FROM clock WHERE id = 1)) $$"
        )
    )


def _step_back(conn: Connection) -> None:
    conn.execute(text("UPDATE step SET ms = 3600000"))


def _lock_both(conn: Connection, one: str, other: str) -> bool:
    lock = text("SELECT id FROM approvals WHERE id = :id FOR UPDATE")
    conn.execute(lock, {"id": one})
    conn.execute(text("SELECT pg_sleep(0.2)"))
    conn.execute(lock, {"id": other})
    return True

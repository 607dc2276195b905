"""End a process only if the kernel proves that its gateway is dead."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.jobs.recovery import Heart, recover, settle
from core.audit.journal import AuditJournal
from core.gate.execution import IN_DOUBT
from core.gate.journal import journal_records
from core.gate.journal.deferred import Deferred
from core.model.decision import DenialReason
from core.model.result import Denied, Finished, Unknown
from core.runner.process_liveness import Fate, fate, own_name
from core.runner.supervisor.processes import procfs
from core.store import Store, approvals, open_store
from core.store.engine import replicas
from core.store.runs import outcomes, runs
from core.store.schema.records import OrphanedRun, RunDraft
from tests.support.gate import without_journal
from tests.support.postgres_relay import Loss, postgres_relay
from tests.support.store_records import ALICE, ONCE, draft, finished, run_draft
from tests.support.waiting import until

_GATEWAY = """
import sys
from core.runner.process_liveness import own_name
print(own_name(), flush=True)
sys.stdin.read()
"""
ROOT = Path(__file__).parents[3]


@contextmanager
def other_gateway() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run another process that is a gateway's; yield it and its own identity."""
    with subprocess.Popen(
        [sys.executable, "-c", _GATEWAY],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@contextmanager
def command(run_id: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run what a gateway would have started for a run, and left behind."""
    with subprocess.Popen(["/usr/bin/sleep", "600"], env={"SAYSO_RUN": run_id}) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
async def store(postgres_url: str) -> AsyncIterator[Store]:
    """Yield a store that several gateways share."""
    opened = await open_store(postgres_url)
    yield opened
    await opened.close()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[AuditJournal]:
    """Yield a journal."""
    with AuditJournal(tmp_path / "audit.jsonl") as opened:
        yield opened


async def begun(store: Store, owner: str, name: str | None) -> RunDraft:
    """Let a gateway whose heartbeat has ended begin a run."""
    await store.write(replicas.heartbeat, owner, -1, name)
    run = run_draft(owner=owner)
    await store.write(runs.begin, run)
    return run


async def test_a_living_gateway_without_a_heartbeat_keeps_its_run(
    store: Store, journal: AuditJournal
) -> None:
    """It is on this machine, and the kernel says that it lives; dead, it loses it at once."""
    with other_gateway() as (gateway, name):
        run = await begun(store, "other", name)
        with command(run.id) as process:
            assert len((await recover(store, journal, "me", lapsed=True)).all) == 0
            assert process.poll() is None
            assert await store.read(outcomes.outcome, run.id) is None

            gateway.kill()
            gateway.wait()
            assert len((await recover(store, journal, "me", lapsed=False)).all) == 1
            assert process.wait(20) == -9
    assert await store.read(outcomes.outcome, run.id) == Unknown(run.id)
    assert await store.read(replicas.others, "me") == ()


async def test_what_a_dead_gateway_left_is_ended_although_the_journal_fails(
    store: Store, journal: AuditJournal, tmp_path: Path
) -> None:
    """Its runs are unknown from then on, so nobody would look again; their records come later."""
    with other_gateway() as (gateway, name):
        left = [await begun(store, "other", name) for _ in range(2)]
        gateway.kill()
        gateway.wait()
    deferred = Deferred(store, journal)
    with command(left[0].id) as first, command(left[1].id) as second:
        with without_journal(tmp_path):
            await Heart(store, deferred, "me").beat()
        assert [first.wait(20), second.wait(20)] == [-9, -9]
    await until(lambda: not deferred._records)
    lines = (tmp_path / "audit.jsonl").read_text().splitlines()
    recorded = [json.loads(line)["run"] for line in lines]
    assert sorted(recorded) == sorted(one.id for one in left)


@pytest.mark.parametrize("loss", [Loss.ANSWER, Loss.COMMIT, Loss.LATE])
async def test_what_a_recovery_in_doubt_found_is_ended_and_recorded_once(
    postgres_url: str, journal: AuditJournal, tmp_path: Path, loss: Loss
) -> None:
    """The connection breaks during its COMMIT; if that never arrived, the next beat finds it."""
    with postgres_relay(postgres_url) as relay, other_gateway() as (gateway, name):
        store = await open_store(relay.url(postgres_url), journal="me")
        run = await begun(store, "other", name)
        gateway.kill()
        gateway.wait()
        relay.lose, relay.of = loss, b"run:"
        with command(run.id) as process:
            for _ in range(2):
                await Heart(store, journal, "me").beat()
            assert relay.lose is None
            assert process.wait(20) == -9
        await store.close()

    lines = map(json.loads, (tmp_path / "audit.jsonl").read_text().splitlines())
    assert [line["run"] for line in lines] == [run.id]


async def test_of_a_gateway_elsewhere_nothing_is_ended(store: Store, journal: AuditJournal) -> None:
    """Nothing is proven: its run is unknown when its lease is over, and its process survives."""
    run = await begun(store, "far", None)
    with command(run.id) as process:
        assert len((await recover(store, journal, "me", lapsed=False)).all) == 0
        assert len((await recover(store, journal, "me", lapsed=True)).all) == 1
        assert process.poll() is None
    assert await store.read(outcomes.outcome, run.id) == Unknown(run.id)


async def test_a_gateway_that_was_cut_off_gives_the_others_time(
    store: Store, journal: AuditJournal
) -> None:
    """After its start, and after its own outage, it judges no one for the time of a lease."""
    now = 0
    heart = Heart(store, journal, "me", steady=lambda: now)
    run = await begun(store, "far", None)
    await heart.beat()
    for expected in (None, Unknown(run.id)):
        now += replicas.LEASE_MS - 1
        await heart.beat()
        assert await store.read(outcomes.outcome, run.id) == expected
    late = await begun(store, "far", None)
    now += replicas.LEASE_MS
    await heart.beat()
    assert await store.read(outcomes.outcome, late.id) is None
    now += replicas.LEASE_MS - 1
    await heart.beat()
    assert await store.read(outcomes.outcome, late.id) is None
    now += 1
    await heart.beat()
    assert await store.read(outcomes.outcome, late.id) == Unknown(late.id)


async def test_no_beat_waits_for_what_executors_left(store: Store, journal: AuditJournal) -> None:
    """Ending that takes 30 s if sudo hangs; a heartbeat that waited would count as stopped."""
    heard: list[str] = []
    never = asyncio.Event()

    async def after(dead: Sequence[OrphanedRun]) -> None:
        heard.extend(one.id for one in dead)
        try:
            await never.wait()
        finally:
            heard.append("given up")

    heart = Heart(store, journal, "me", after)
    with other_gateway() as (gateway, name):
        run = await begun(store, "far", name)
        gateway.kill()
        gateway.wait()
    await heart.beat()
    await heart.beat()
    await until(lambda: heard == [run.id])
    await heart.stop()
    assert heard == [run.id, "given up"]


async def test_what_is_proven_of_a_process() -> None:
    """Only one of this boot and these namespaces, by pid and start time."""
    with other_gateway() as (gateway, name):
        where, _, rest = name.rpartition("; ")
        pid, ticks = rest.split()
        assert fate(name) is Fate.LIVES
        assert fate(f"{where}; {pid} {int(ticks) + 1}") is Fate.DEAD
        for other in (
            None,
            "",
            "no name",
            f"another boot; {rest}",
            f"{where.replace('pid:[', 'pid:[9')}; {rest}",
            own_name(),
        ):
            assert fate(other) is Fate.UNPROVEN, other
        gateway.kill()
        async with asyncio.timeout(20):  # a zombie until it is waited for, and already dead
            while fate(name) is not Fate.DEAD:
                await asyncio.sleep(0.02)
        seen = procfs.process(gateway.pid)
        assert seen is not None
        assert not seen.alive
    assert fate(name) is Fate.DEAD


@pytest.mark.parametrize(("known", "later"), [(True, "stop"), (True, "executor"), (False, "vote")])
async def test_a_restored_store_starts_nothing_that_has_run(
    tmp_path: Path, later: str, *, known: bool
) -> None:
    """The journal is newer than the backup; the control: without its record the run is queued.

    What else is recorded of a run may come after its end: who ended it, what its executor called.
    """
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    question = draft()
    await store.write(approvals.create, question)
    await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    with AuditJournal(path) as journal:
        await journal.append("start", {"run": question.id})
        if known:
            await journal.append("finish", journal_records.finished(finished(question.id, 3)))
        await journal.append(later, {"run": question.id})

    taken = await settle(store, path, "me")

    assert taken == known
    assert bool(await store.read(runs.queued, 10)) != known
    ended = await store.read(outcomes.outcome, question.id)
    assert (isinstance(ended, Finished) and ended.exit_code == 3) == known
    await store.close()


@pytest.mark.parametrize(
    ("kind", "record", "ends"),
    [
        ("stop", {"note": "by ana"}, (DenialReason.CANCELLED, "by ana")),
        ("refuse", {"reason": "cancelled", "why": "by ana"}, (DenialReason.CANCELLED, "by ana")),
        ("refuse", {"reason": "spawn_failed", "why": IN_DOUBT}, None),
        ("start", {}, None),
    ],
)
async def test_what_was_reported_as_cancelled_does_not_start_after_a_restart(
    tmp_path: Path, kind: str, record: dict[str, object], ends: tuple[DenialReason, str] | None
) -> None:
    """The gateway was killed after it said so, before the store had it; the controls: not said."""
    store, path = await open_store(f"sqlite:///{tmp_path / 'state.db'}"), tmp_path / "audit.jsonl"
    question = draft()
    await store.write(approvals.create, question)
    await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    with AuditJournal(path) as journal:
        await journal.append("start", {"run": question.id})
        await journal.append(kind, {"run": question.id, **record})

    assert await settle(store, path, "me") == (ends is not None)

    ended = await store.read(outcomes.outcome, question.id)
    assert (ended is None) == (ends is None)
    if ends is not None:
        assert isinstance(ended, Denied)
        assert ended.reason is ends[0]
        assert ends[1] in ended.why
    await store.close()

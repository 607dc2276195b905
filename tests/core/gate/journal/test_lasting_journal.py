"""Record all that is stored, where the journal or the answer to a COMMIT is lost in the middle."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from core.errors import JournalError, StoreAway, StoreError
from core.gate.gate import Gate
from core.gate.journal.ends import expire
from core.model.approval import ApprovalReply
from core.model.identity import ApprovalId
from core.model.policy import AskFallback, PolicyLayer
from core.ports import Journal
from core.store import Store, approvals
from core.store.approvals import expire_and_notify
from core.store.runs import runs
from core.store.views import decision
from tests.support.gate import (
    allowed,
    gate_at,
    layer,
    records,
    request,
    says,
    without_journal,
)
from tests.support.store_link import Op, StoreLink
from tests.support.waiting import until

UNROUTED = layer(fallback=AskFallback.FULL)
"""What nobody can be asked about, the ask fallback allows."""


def kinds(home: Path, run_id: str) -> list[object]:
    """Return the kinds of a run's records, in order."""
    return [line["kind"] for line in records(home) if line.get("run") == run_id]


@dataclass
class SlowJournal:
    """A journal whose disk takes records of these kinds once it is ``free``."""

    journal: Journal
    slow: frozenset[str]
    free: asyncio.Event = field(default_factory=asyncio.Event)

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Append a record."""
        if kind in self.slow:
            await self.free.wait()
        await self.journal.append(kind, record)


@asynccontextmanager
async def faulty_at(
    home: Path,
    everyone: PolicyLayer | None = None,
    *,
    reachable: bool = True,
    timeout_ms: int = 60_000,
) -> AsyncIterator[tuple[Gate, StoreLink]]:
    """Run a gate, with a link to its store that is whole until a test breaks it."""
    links: list[StoreLink] = []

    def over(store: Store) -> StoreLink:
        links.append(StoreLink(store))
        return links[0]

    async with gate_at(
        home, everyone, reachable=reachable, timeout_ms=timeout_ms, over=over
    ) as gate:
        yield gate, links[0]


async def all_runs(gate: Gate) -> list[ApprovalId]:
    """Run what is allowed, once the journal has what is known; return the runs."""
    await until(lambda: not gate.execution.deferred._records)
    queued = await gate.queued()
    for run_id, plan in queued:
        await gate.run_approved(run_id, plan)
    return [run_id for run_id, _ in queued]


async def test_identical_questions_that_the_journal_refuses_are_all_recorded_later(
    tmp_path: Path,
) -> None:
    """One answer ends them; the first record that is refused keeps no other away."""
    async with gate_at(tmp_path) as gate:
        asked = [await gate.submit(request("true", cwd=tmp_path)) for _ in range(3)]
        with without_journal(tmp_path), pytest.raises(JournalError):
            await gate.answer(says(asked[0].run_id, ApprovalReply.ALLOW_ALWAYS))
        assert {one.run_id for one in asked} == set(await all_runs(gate))

    for one in asked:
        assert kinds(tmp_path, one.run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_is_recorded_whole_after_an_outage(
    tmp_path: Path,
) -> None:
    """Its question and its end, both before its start."""
    async with gate_at(tmp_path, UNROUTED, reachable=False) as gate:
        with without_journal(tmp_path), pytest.raises(JournalError):
            await gate.submit(request("true", cwd=tmp_path))
        (run_id,) = await all_runs(gate)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_what_the_ask_fallback_allows_starts_after_its_records(tmp_path: Path) -> None:
    """Its commit wakes what starts runs while the records are still being written."""
    slow: list[SlowJournal] = []

    def into(journal: Journal) -> Journal:
        slow.append(SlowJournal(journal, frozenset({"ask", "resolve"})))
        return slow[0]

    async with gate_at(tmp_path, UNROUTED, reachable=False, into=into) as gate:
        asking = asyncio.create_task(gate.submit(request("true", cwd=tmp_path)))
        while not (queued := await gate.queued()):
            await asyncio.sleep(0)
        ((run_id, plan),) = queued
        run = asyncio.create_task(gate.run_approved(run_id, plan))
        with suppress(TimeoutError):
            await asyncio.wait_for(asyncio.shield(run), 0.5)
        slow[0].free.set()
        await asyncio.gather(run, asking)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


def _decides(op: Op) -> bool:
    return isinstance(op, decision.FindAndAnswer)


@pytest.mark.parametrize("reply", [ApprovalReply.ALLOW_ONCE, ApprovalReply.DENY])
async def test_an_answer_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, reply: ApprovalReply
) -> None:
    """Whoever gave it gets the error, may leave, and it counts all the same."""
    async with faulty_at(tmp_path) as (gate, link):
        asked = await gate.submit(request("true", cwd=tmp_path))
        link.loses = _decides
        with pytest.raises(StoreError):
            await gate.answer(says(asked.run_id, reply))
        ((run_id, plan),) = await gate.queued() or ((asked.run_id, None),)
        if plan is not None:
            with pytest.raises(JournalError):
                await gate.run_approved(run_id, plan)
        await all_runs(gate)

    ran = ["start", "finish"] if reply is ApprovalReply.ALLOW_ONCE else []
    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve", *ran]


async def test_an_answer_that_was_not_stored_is_not_recorded(tmp_path: Path) -> None:
    """The control: its transaction was undone, and the question still waits."""
    async with faulty_at(tmp_path) as (gate, link):
        asked = await gate.submit(request("true", cwd=tmp_path))
        link.undoes = _decides
        with pytest.raises(StoreError):
            await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
        assert await all_runs(gate) == []

    assert kinds(tmp_path, asked.run_id) == ["ask"]


@pytest.mark.parametrize("reachable", [True, False])
async def test_a_question_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path, reachable: bool
) -> None:
    """People answer it, or the ask fallback has: what ran has a record of what was asked."""
    lost: set[Op] = {approvals.create, approvals.settle_unrouted}
    async with faulty_at(tmp_path, UNROUTED, reachable=reachable) as (gate, link):
        link.loses = lost.__contains__
        with pytest.raises(StoreError):
            await gate.submit(request("true", cwd=tmp_path))
        link.loses = set[Op]().__contains__
        await until(lambda: not gate.execution.deferred._records)
        for one in await gate.store.read(approvals.pending, 10):
            await gate.answer(says(one.id, ApprovalReply.ALLOW_ONCE))
        (run_id,) = await all_runs(gate)

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "start", "finish"]


async def test_a_question_whose_commit_takes_effect_late_is_recorded(tmp_path: Path) -> None:
    """Its connection broke, and the server was still committing: it is looked for again."""
    async with faulty_at(tmp_path) as (gate, link):
        link.delays = {approvals.create}.__contains__
        with pytest.raises(StoreError):
            await gate.submit(request("true", cwd=tmp_path))
        await until(lambda: link.calls[approvals.get] == 2)
        link.free.set()
        await until(lambda: not gate.execution.deferred._records)
        (one,) = await gate.store.read(approvals.pending, 10)

    assert kinds(tmp_path, one.id) == ["ask"]


async def test_a_withdrawal_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path,
) -> None:
    """A question that was cancelled has its end in the journal."""
    async with faulty_at(tmp_path) as (gate, link):
        asked = await gate.submit(request("true", cwd=tmp_path))
        link.loses = {approvals.cancel}.__contains__
        with pytest.raises(StoreError):
            await gate.cancel(asked.run_id, "no longer needed")
        await all_runs(gate)

    assert kinds(tmp_path, asked.run_id) == ["ask", "resolve"]


async def test_a_withdrawn_run_whose_commit_is_in_doubt_is_recorded_once_it_is_known(
    tmp_path: Path,
) -> None:
    """It was allowed and had not started; whoever cancelled it got the error."""
    async with faulty_at(tmp_path) as (gate, link):
        run_id = await allowed(gate, "true")
        link.loses = {runs.withdraw}.__contains__
        with pytest.raises(StoreError):
            await gate.cancel(run_id, "no longer needed")
        assert await all_runs(gate) == []

    assert kinds(tmp_path, run_id) == ["ask", "resolve", "refuse"]


async def test_what_expired_before_the_store_failed_is_recorded(tmp_path: Path) -> None:
    """Many expire in batches; the one that fails takes no record of the others with it."""
    async with faulty_at(tmp_path, timeout_ms=1) as (gate, link):
        asked = [await gate.submit(request(f"echo {one}", cwd=tmp_path)) for one in "abc"]
        await asyncio.sleep(0.01)
        link.fails = lambda op: op is expire_and_notify and link.calls[op] > 2
        with pytest.raises(StoreAway):
            await expire(gate.store, gate._lasting, 1)

    ended = [one for one in asked if kinds(tmp_path, one.run_id) == ["ask", "resolve"]]
    assert len(ended) == 2

"""Settle the runs of nodes once: by the gateway that claimed them, or by its successor."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from bot.wiring.nodes import StoredRuns
from core.errors import JournalError
from core.model.decision import DenialReason
from core.model.identity import ApprovalId
from core.model.node import NodeId
from core.model.policy import ExecHost
from core.nodes.frames import Ended, NotRun
from core.store import Store, open_store
from core.store.people import nodes
from core.store.people.nodes import PairingDraft
from core.store.runs import outcomes, runs
from tests.support.store_records import finished, new_id, run_draft

WEB, OTHER = NodeId("ab" * 32), NodeId("cd" * 32)


@dataclass
class Records:
    """A journal in memory; ``full`` is one on a full disk."""

    full: bool = False
    kinds: list[str] = field(default_factory=list)

    async def append(self, kind: str, record: dict[str, object]) -> None:
        """Keep the kind of record."""
        del record
        if self.full:
            raise JournalError("the disk is full")
        self.kinds.append(kind)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """Open a store that knows the node web."""
    opened = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    asked = await opened.write(nodes.request, PairingDraft(WEB, "t" * 43, "web", "127.0.0.1"))
    await opened.write(nodes.approve, asked.code, "uid:0")
    yield opened
    await opened.close()


async def _claimed(store: Store, owner: str) -> ApprovalId:
    """Begin a run on the node web, as one boot of a gateway."""
    run = run_draft(owner=owner)
    there = replace(run, plan=replace(run.plan, host=ExecHost.NODE, node=WEB))
    assert await store.write(runs.begin, there)
    return run.id


def _ended(run_id: ApprovalId) -> Ended:
    return Ended(run_id=run_id, result=finished(run_id, 3))


async def test_an_ending_that_an_earlier_gateway_waited_for_is_stored(store: Store) -> None:
    """It is in the journal too; a node that repeats it is told that it is there."""
    journal = Records()
    stored = StoredRuns(store, journal, "boot-2")
    left = await _claimed(store, "boot-1")
    assert await stored.left_on(WEB) == (left,)
    assert await stored.node_of(left) == WEB

    assert await stored.settle(WEB, _ended(left))
    assert await stored.settle(WEB, _ended(left))

    assert await store.read(outcomes.outcome, left) == finished(left, 3)
    assert journal.kinds == ["finish"]
    assert await stored.left_on(WEB) == ()
    assert await stored.node_of(left) is None


async def test_a_run_that_never_began_on_its_node_is_refused(store: Store) -> None:
    """The reason is the node's; the journal has it as a refusal, not as an end."""
    journal = Records()
    left = await _claimed(store, "boot-1")
    why = NotRun(run_id=left, reason=DenialReason.PLAN_DRIFT, why="ls was replaced")

    assert await StoredRuns(store, journal, "boot-2").settle(WEB, why)

    assert "ls was replaced" in str(await store.read(outcomes.outcome, left))
    assert journal.kinds == ["refuse"]


async def test_no_other_node_ends_a_run(store: Store) -> None:
    """What the store does not know is let go, so that the node stops reporting it."""
    journal = Records()
    stored = StoredRuns(store, journal, "boot-2")
    left = await _claimed(store, "boot-1")

    assert await stored.settle(OTHER, _ended(left))
    assert await stored.settle(WEB, _ended(new_id()))

    assert await store.read(outcomes.outcome, left) is None
    assert journal.kinds == []


async def test_an_ending_that_somebody_waits_for_is_left_to_them(store: Store) -> None:
    """The gateway that claimed the run stores it itself; settling returns when it has."""
    journal = Records()
    stored = StoredRuns(store, journal, "boot-1")
    own = await _claimed(store, "boot-1")
    settling = asyncio.create_task(stored.settle(WEB, _ended(own)))
    await asyncio.sleep(0.05)
    assert not settling.done()
    await store.write(runs.finish, own, finished(own, 0), "boot-1")

    assert await settling
    assert await store.read(outcomes.outcome, own) == finished(own, 0)
    assert journal.kinds == []


@pytest.mark.parametrize("lost", ["journal", "store"])
async def test_an_ending_that_cannot_be_kept_now_stays_with_its_node(
    store: Store, lost: str, caplog: pytest.LogCaptureFixture
) -> None:
    """``False``: the node is not told that it is there, and the log says why."""
    left = await _claimed(store, "boot-1")
    if lost == "store":
        await store.close()

    assert not await StoredRuns(store, Records(full=lost == "journal"), "boot-2").settle(
        WEB, _ended(left)
    )
    assert f"the ending of run {left} cannot be stored now" in caplog.text


async def test_only_an_earlier_gateways_runs_are_left(store: Store) -> None:
    """What this boot claimed is waited for here."""
    earlier, own = await _claimed(store, "boot-1"), await _claimed(store, "boot-2")

    assert await StoredRuns(store, Records(), "boot-2").left_on(WEB) == (earlier,)
    assert await StoredRuns(store, Records(), "boot-1").left_on(WEB) == (own,)

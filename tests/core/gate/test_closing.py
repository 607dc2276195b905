"""Finish what a closing gate has begun: the store and the journal agree."""

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from core.errors import Stopping
from core.gate.gate import Gate
from core.model.approval import Approval, ApprovalReply, ApprovalState
from core.model.command import ExecOverrides, ExecRequest
from core.model.identity import ApprovalId
from core.model.policy import ExecAsk, ExecSecurity
from core.model.result import ExecResult, Finished, Pending
from core.store import approvals
from tests.support.gate import gate_at, layer, request, says

SOON_S = 0.3
"""How long the disk is slow while the gate closes; a gate that waits for it takes this long."""


@contextmanager
def slow_disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[threading.Event, threading.Event]]:
    """Hold each sync until the second event is set; the first says that one is held."""
    held, over, sync = threading.Event(), threading.Event(), os.fdatasync

    def slowly(fd: int) -> None:
        held.set()
        over.wait()
        sync(fd)

    monkeypatch.setattr(os, "fdatasync", slowly)
    try:
        yield held, over
    finally:
        over.set()


async def question(gate: Gate, cwd: Path) -> ApprovalId:
    """Ask for something that no one answers in time."""
    asked = await gate.submit(request("touch made", cwd=cwd))
    assert isinstance(asked, Pending)
    return asked.run_id


async def expired(gate: Gate, run_id: ApprovalId) -> None:
    """Wait until the store has the end of a question."""
    found: Approval | None = None
    while found is None or found.resolution is None:
        found = await gate.store.read(approvals.get, run_id)
    assert found.resolution.state is ApprovalState.EXPIRED


def written(home: Path) -> list[str]:
    """Return the questions whose end the journal has."""
    lines = map(json.loads, (home / "audit.jsonl").read_text().splitlines())
    return [one["run"] for one in lines if one["kind"] == "resolve"]


@pytest.mark.parametrize("settles", [True, False])
async def test_an_expiry_comes_into_the_journal_before_the_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settles: bool
) -> None:
    """Its job is cut off once the gate has settled; the control cuts it off earlier."""
    async with gate_at(tmp_path, timeout_ms=1) as gate:
        run_id = await question(gate, tmp_path)

        async def stop(job: "asyncio.Task[int]") -> None:
            gate.close()
            if settles:
                await gate.settle(30)
            job.cancel()

        with slow_disk(monkeypatch) as (held, over):
            before = asyncio.create_task(gate.journal.append("note", {}))
            await asyncio.to_thread(held.wait)
            job = asyncio.create_task(gate.expire())
            await expired(gate, run_id)
            await asyncio.wait({stopping := asyncio.create_task(stop(job))}, timeout=SOON_S)
            over.set()
            await asyncio.gather(before, job, stopping, return_exceptions=True)

    assert written(tmp_path) == ([run_id] if settles else [])


async def test_a_closed_gate_leaves_what_expires_to_the_next_start(tmp_path: Path) -> None:
    """Neither the store nor the journal has an end of it."""
    async with gate_at(tmp_path, timeout_ms=1) as gate:
        run_id = await question(gate, tmp_path)
        gate.close()
        assert await gate.expire() == 0
    assert written(tmp_path) == []

    async with gate_at(tmp_path, timeout_ms=1) as gate:
        assert await gate.expire() == 1
    assert written(tmp_path) == [run_id]


UNASKED = layer(security=ExecSecurity.FULL, ask=ExecAsk.OFF)


@asynccontextmanager
async def one_runs_and_one_waits(
    home: Path, *, asked: bool
) -> AsyncIterator[tuple[Gate, "asyncio.Task[object]"]]:
    """Run a command in a gate that runs one at a time, and let another wait for its turn.

    ``asked``: a person allowed the one that waits. The first ends once a file `go` exists.
    """
    async with gate_at(home, UNASKED, most_runs=1) as gate:
        first = request("touch here; until test -e go; do sleep 0.02; done", cwd=home)
        running = asyncio.create_task(gate.submit(first))
        while not (home / "here").exists():
            await asyncio.sleep(0.01)
        wish = request("touch made", cwd=home)
        waiting = asyncio.create_task(allowed(gate, wish) if asked else gate.submit(wish))
        while len(gate._running) < 2:
            await asyncio.sleep(0.01)
        try:
            yield gate, waiting
        finally:
            (home / "go").touch()
            await asyncio.gather(running, waiting, return_exceptions=True)


async def allowed(gate: Gate, wish: ExecRequest) -> ExecResult | None:
    """Ask people, let Ana allow it, and run it."""
    asked = await gate.submit(replace(wish, overrides=ExecOverrides(ask=ExecAsk.ALWAYS)))
    assert isinstance(asked, Pending)
    await gate.answer(says(asked.run_id, ApprovalReply.ALLOW_ONCE))
    ((run_id, plan),) = await gate.queued()
    return await gate.run_approved(run_id, plan)


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("open_still", [False, True])
async def test_what_waits_for_its_turn_is_refused_at_the_stop(
    tmp_path: Path, asked: bool, open_still: bool
) -> None:
    """What runs completes, and nothing is started after it; in the control it is."""
    async with one_runs_and_one_waits(tmp_path, asked=asked) as (gate, waiting):
        gate.close()
        gate.execution.closed = not open_still
        (tmp_path / "go").touch()
        await gate.settle(30)
        (ended,) = await asyncio.gather(waiting, return_exceptions=True)
        with pytest.raises(Stopping):
            await gate.submit(request("touch made", cwd=tmp_path))
        assert await gate.queued() == ()

    assert isinstance(ended, Finished if open_still else Stopping), ended
    assert (tmp_path / "made").exists() is open_still


async def test_what_people_allowed_runs_after_the_next_start(tmp_path: Path) -> None:
    """A run that was refused its turn is still queued."""
    async with one_runs_and_one_waits(tmp_path, asked=True) as (gate, _):
        gate.close()
    async with gate_at(tmp_path, UNASKED) as gate:
        ((run_id, plan),) = await gate.queued()
        assert isinstance(await gate.run_approved(run_id, plan), Finished)

    assert (tmp_path / "made").exists()

"""Let a supervisor take another job only while nothing of the last one could touch it."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from core.runner.link import Link
from core.runner.pool import Pool
from core.runner.runner import Runner
from core.runner.supervisor import protocol
from tests.support.runs import Start, new_run, planned, request, shell


async def served_by(runner: Runner) -> int:
    """Return the pid of the supervisor that ran a harmless command."""
    result = await shell(runner, "echo $PPID")
    return int(result.output.text)


async def test_a_calm_supervisor_serves_again(runner: Runner) -> None:
    """Runs that leave nothing behind do not cost a process each."""
    served = [await served_by(runner) for _ in range(30)]

    assert len(set(served)) <= 3


LEAVING = """
(setsid sh -c 'trap : TERM; echo >there; while :; do sleep 1; done' &)
until [ -s there ]; do sleep 0.05; done
"""


@pytest.mark.parametrize(
    "trouble",
    [
        LEAVING,
        "head -c 3000000 /dev/zero",
        "kill -9 $PPID",
    ],
)
async def test_a_disturbed_supervisor_retires(runner: Runner, tmp_path: Path, trouble: str) -> None:
    """A supervisor of a run that left a child, printed much or hit it is not reused."""
    seen = {await served_by(runner) for _ in range(8)}
    result = await shell(runner, f"cd {tmp_path}; echo $PPID; {trouble}")
    disturbed = int(result.output.text.split()[0]) if result.output.text[0].isdigit() else None

    after = {await served_by(runner) for _ in range(8)}

    assert disturbed is None or disturbed not in after
    assert seen
    assert "ok\n" == (await shell(runner, "echo ok")).output.text


async def test_a_run_that_was_ended_ends_its_supervisor(runner: Runner) -> None:
    """A message of ours that may still be in transit never reaches the next run."""
    start, run_id = Start(), new_run()
    plan = planned(request("sleep 60 ; true"))
    task = asyncio.create_task(runner.run(run_id, plan, start))
    await start.started.wait()
    assert start.identity is not None
    assert await runner.cancel(run_id)
    await task
    late = await shell(runner, "echo $PPID; sleep 60", timeout_ms=500)

    after = {await served_by(runner) for _ in range(8)}

    assert late.timed_out
    assert after.isdisjoint((start.identity[0], int(late.output.text)))


@pytest.fixture
async def link() -> AsyncIterator[Link]:
    """Yield the gateway's end of one supervisor."""
    pool = Pool(warm=0)
    await pool.start()
    found = await pool.take()
    try:
        yield found
    finally:
        found.close()
        await pool.stop()


@pytest.mark.parametrize(
    ("folder", "shelves", "why"),
    [
        (os.devnull, [], "its limits, folder or streams"),
        ("/", [0], "its limits, folder or streams"),
        ("/", [], "/"),
    ],
    ids=["its folder is none", "half a stream", "its program is none"],
)
async def test_a_job_that_does_not_start_ends_its_supervisor(
    link: Link, folder: str, shelves: list[int], why: str
) -> None:
    """Half of it may be in effect, and the next job would run under that."""
    job: protocol.Job = {**protocol.VOID, "limits": {"cpu": (60, 60)}, "shelves": shelves}
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        await link.send_job(job, [fd])
    finally:
        os.close(fd)
    async with asyncio.timeout(20):
        reports = [await link.receive(), await link.receive()]

    assert reports[0] is not None
    assert why in reports[0]["failed"]["why"]
    assert reports[1] is None

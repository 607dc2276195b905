"""Whoever watches a run sees all that is kept of it, and never holds it up."""

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import OutputChunk, StreamName
from core.model.stdio import Capture, Stdio
from core.runner.runner import Runner
from core.runner.supervisor.output.capture import LARGEST_HEAD_BYTES
from tests.support.runs import Watcher, new_run, planned, request, shell

APART = Stdio(capture=Capture.SEPARATE)
TERMINAL = Stdio(capture=Capture.PTY)
CAPTURES = {"combined": Stdio(), "separate": APART, "terminal": TERMINAL}


def scripted(script: str, stdio: Stdio = CAPTURES["combined"]) -> ExecPlan:
    """Return the plan of a shell script."""
    return planned(request(argv=("/bin/sh", "-c", script), stdio=stdio))


def joined(chunks: Iterable[OutputChunk], stream: StreamName = StreamName.OUTPUT) -> bytes:
    """Return what was seen of one stream."""
    return b"".join(one.data for one in chunks if one.stream is stream)


async def watched(runner: Runner, run_id: ApprovalId) -> list[OutputChunk]:
    """Watch a run to its end."""
    return [chunk async for chunk in runner.watch(run_id)]


async def gated(
    runner: Runner, gate: Path, stdio: Stdio
) -> tuple[ApprovalId, asyncio.Task[object]]:
    """Start a run that prints, waits for a file, and prints again."""
    run_id, watcher = new_run(), Watcher()
    script = f"echo early; while ! [ -e {gate} ]; do sleep 0.01; done; echo late"
    task = asyncio.create_task(runner.run(run_id, scripted(script, stdio), watcher))
    await watcher.started.wait()
    return run_id, task


@pytest.mark.parametrize("capture", CAPTURES)
async def test_output_is_seen_while_it_comes(runner: Runner, tmp_path: Path, capture: str) -> None:
    """The first words are there long before the last, and the watcher ends with the run."""
    gate = tmp_path / "go"
    run_id, task = await gated(runner, gate, CAPTURES[capture])
    seen: list[OutputChunk] = []

    async with asyncio.timeout(10):
        async for chunk in runner.watch(run_id):
            seen.append(chunk)
            if b"early" in chunk.data:
                assert not task.done()
                gate.touch()

    text = b"".join(chunk.data for chunk in seen).replace(b"\r", b"")
    assert text == b"early\nlate\n"
    await task


async def test_everybody_sees_everything(runner: Runner, tmp_path: Path) -> None:
    """Watchers from before the start, from its middle and from near its end see the same."""
    gate = tmp_path / "go"
    run_id, task = await gated(runner, gate, CAPTURES["combined"])
    early = [asyncio.create_task(watched(runner, run_id)) for _ in range(3)]
    await asyncio.sleep(0.1)
    late = [asyncio.create_task(watched(runner, run_id)) for _ in range(3)]
    await asyncio.sleep(0.05)
    gate.touch()

    async with asyncio.timeout(10):
        everything = await asyncio.gather(*early, *late)

    assert {joined(chunks) for chunks in everything} == {b"early\nlate\n"}
    await task


@pytest.mark.parametrize("look_after", range(1, 6))
async def test_a_short_run_is_seen_whole(runner: Runner, look_after: int) -> None:
    """Whoever finds a run at all sees all of it, from its first byte on or as it ends."""
    for _ in range(20):
        run_id = new_run()
        task = asyncio.create_task(runner.run(run_id, scripted("printf 'x\\377'"), Watcher()))
        for _ in range(look_after):
            await asyncio.sleep(0)
        over = task.done()  # a busy machine may have run it already
        async with asyncio.timeout(10):
            seen = await watched(runner, run_id)
        assert over or joined(seen) in {b"x\xff", "x\ufffd".encode()}
        assert (await task).output.total_bytes == 2


async def test_separate_streams_are_watched_from_the_start(runner: Runner) -> None:
    """There the shelf is filled from the first byte on, watched or not: nothing is missed."""
    for _ in range(20):
        run_id = new_run()
        plan = scripted("echo out; echo err >&2", APART)
        task = asyncio.create_task(runner.run(run_id, plan, Watcher()))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            seen = await watched(runner, run_id)
        assert joined(seen, StreamName.STDOUT) == b"out\n"
        assert joined(seen, StreamName.STDERR) == b"err\n"
        await task


async def test_nothing_is_streamed_beyond_the_cap(runner: Runner) -> None:
    """What is kept is what is seen; the rest is counted only."""
    combined, apart = new_run(), new_run()
    loud = "sleep 0.1; head -c 3000000 /dev/zero"
    stdio = Stdio(capture=Capture.SEPARATE, most_stdout=1000)
    first = asyncio.create_task(runner.run(combined, scripted(loud), Watcher()))
    other = asyncio.create_task(runner.run(apart, scripted(loud, stdio), Watcher()))
    await asyncio.sleep(0.05)

    async with asyncio.timeout(10):
        seen, seen_apart = await asyncio.gather(watched(runner, combined), watched(runner, apart))

    assert joined(seen) == bytes(LARGEST_HEAD_BYTES)
    assert joined(seen_apart, StreamName.STDOUT) == bytes(1000)
    assert (await first).output.total_bytes == (await other).output.total_bytes == 3_000_000


async def test_a_slow_watcher_holds_nothing_up(runner: Runner) -> None:
    """A run ends in its own time; who looks away meanwhile still gets all that is kept."""
    run_id, watcher = new_run(), Watcher()
    plan = scripted("sleep 0.1; head -c 5000000 /dev/zero")
    task = asyncio.create_task(runner.run(run_id, plan, watcher))
    await watcher.started.wait()
    chunks = runner.watch(run_id)
    first = await anext(chunks)
    began = time.monotonic()

    done = await task
    took = time.monotonic() - began
    rest = [chunk async for chunk in chunks]

    assert done.output.total_bytes == 5_000_000
    assert took < 5
    assert joined([first, *rest]) == bytes(LARGEST_HEAD_BYTES)


async def test_a_vanished_watcher_leaves_nothing_behind(runner: Runner) -> None:
    """Watchers that are cancelled, or stop in the middle, cost no descriptor afterwards."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    await shell(runner, "true")
    before = opened()
    for stdio in CAPTURES.values():
        run_id, watcher = new_run(), Watcher()
        plan = scripted("while :; do echo x; sleep 0.01; done", stdio)
        task = asyncio.create_task(runner.run(run_id, plan, watcher))
        await watcher.started.wait()
        watching = [asyncio.create_task(watched(runner, run_id)) for _ in range(3)]
        stopped = runner.watch(run_id)
        await anext(stopped)
        for one in watching:
            one.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await runner.cancel(run_id)
        assert "x" in (await task).output.text
    await asyncio.sleep(0.1)

    assert opened() <= before + 2  # warm supervisors come and go


async def test_a_byte_by_byte_flood_is_watched_at_ease(runner: Runner) -> None:
    """A command that prints single bytes does not occupy the gateway: looks are spaced out."""
    run_id, watcher = new_run(), Watcher()
    plan = scripted("exec dd if=/dev/zero bs=1 count=200000 status=none")
    task = asyncio.create_task(runner.run(run_id, plan, watcher))
    await watcher.started.wait()

    seen = await watched(runner, run_id)
    done = await task

    assert len(joined(seen)) == done.output.total_bytes == 200_000
    assert len(seen) <= 5 + done.duration_ms / 5


async def test_watching_spoils_no_supervisor(runner: Runner) -> None:
    """Runs watched at their very end leave no word behind for the supervisor's next job."""
    for _ in range(30):
        run_id = new_run()
        job = asyncio.ensure_future(runner.run(run_id, scripted("true"), Watcher()))
        await asyncio.sleep(0)
        while not job.done():
            await watched(runner, run_id)
            await asyncio.sleep(0)
        assert (await job).exit_code == 0
    assert (await shell(runner, "echo ok")).output.text == "ok\n"


async def test_what_a_dead_supervisor_left_is_seen(runner: Runner) -> None:
    """Where nobody saw the end, the watcher still ends, with what came until then."""
    run_id, watcher = new_run(), Watcher()
    plan = scripted("echo here; sleep 60", APART)
    task = asyncio.create_task(runner.run(run_id, plan, watcher))
    await watcher.started.wait()
    chunks = runner.watch(run_id)
    first = await anext(chunks)
    assert watcher.identity is not None

    os.kill(watcher.identity[0], signal.SIGKILL)
    async with asyncio.timeout(10):
        rest = [chunk async for chunk in chunks]
    done = await task

    assert joined([first, *rest], StreamName.STDOUT) == b"here\n"
    assert (done.exit_code, done.signal) == (None, None)
    assert done.streams is not None
    assert done.streams.stdout.data == b"here\n"


async def test_a_run_that_is_not_here_yields_nothing(runner: Runner) -> None:
    """Neither an unknown id nor a finished run has anything to see."""
    run_id = new_run()
    await runner.run(run_id, scripted("echo x"), Watcher())

    assert await watched(runner, run_id) == []
    assert await watched(runner, ApprovalId("0" * 26)) == []


async def test_a_run_that_never_starts_ends_its_watchers(runner: Runner) -> None:
    """Who watches a run that is refused at the claim is let go."""
    run_id = new_run()
    task = asyncio.create_task(runner.run(run_id, scripted("true"), Watcher(grants=False)))
    await asyncio.sleep(0)

    async with asyncio.timeout(10):
        seen = await watched(runner, run_id)

    assert seen == []
    with pytest.raises(Exception, match="claimed"):
        await task


async def test_only_a_watched_run_is_kept_here(runner: Runner) -> None:
    """Without a watcher the gateway keeps nothing of a run; with one, as long as it is there."""

    def kept() -> int:
        return Path("/proc/self/maps").read_text().count("sayso-output")

    run_id, watcher = new_run(), Watcher()
    task = asyncio.create_task(runner.run(run_id, scripted("echo x; sleep 0.2"), watcher))
    await watcher.started.wait()
    before = kept()
    watching = [asyncio.create_task(watched(runner, run_id)) for _ in range(3)]
    await asyncio.sleep(0.05)
    during = kept()
    await asyncio.gather(task, *watching)

    assert (before, during, kept()) == (0, 1, 0)

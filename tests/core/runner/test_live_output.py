"""Show a watcher of a run all that is kept of it, without ever delaying it."""

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from core.model.command import ExecPlan
from core.model.identity import ApprovalId
from core.model.result import Finished, OutputChunk, StreamName
from core.model.stdio import Capture, Stdio
from core.runner.runner import Runner
from core.runner.supervisor.output.capture import LARGEST_HEAD_BYTES
from tests.support.runs import Start, new_run, planned, request, shell
from tests.support.waiting import until

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
    runner: Runner, gate: Path, stdio: Stdio = CAPTURES["combined"], then: str = "echo late"
) -> tuple[ApprovalId, asyncio.Task[Finished]]:
    """Start a run that prints, waits for a file, and prints again."""
    run_id, start = new_run(), Start()
    script = f"echo early; while ! [ -e {gate} ]; do sleep 0.01; done; {then}"
    task = asyncio.create_task(runner.run(run_id, scripted(script, stdio), start))
    await start.started.wait()
    return run_id, task


@pytest.mark.parametrize("capture", CAPTURES)
async def test_output_is_seen_while_it_comes(runner: Runner, tmp_path: Path, capture: str) -> None:
    """The first words arrive long before the last, and the watcher ends with the run."""
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
    """A watcher that finds a run at all sees all of it, from its first byte or as it ends."""
    for _ in range(20):
        run_id = new_run()
        task = asyncio.create_task(runner.run(run_id, scripted("printf 'x\\377'"), Start()))
        for _ in range(look_after):
            await asyncio.sleep(0)
        over = task.done()  # a busy machine may have run it already
        async with asyncio.timeout(10):
            seen = await watched(runner, run_id)
        assert over or joined(seen) in {b"x\xff", "x\ufffd".encode()}
        assert (await task).output.total_bytes == 2


async def test_separate_streams_are_watched_from_the_start(runner: Runner) -> None:
    """There the shelf is filled from the first byte, watched or not: nothing is missed."""
    for _ in range(20):
        run_id = new_run()
        plan = scripted("echo out; echo err >&2", APART)
        task = asyncio.create_task(runner.run(run_id, plan, Start()))
        await asyncio.sleep(0)
        async with asyncio.timeout(10):
            seen = await watched(runner, run_id)
        assert joined(seen, StreamName.STDOUT) == b"out\n"
        assert joined(seen, StreamName.STDERR) == b"err\n"
        await task


async def test_nothing_is_streamed_beyond_the_cap(runner: Runner, tmp_path: Path) -> None:
    """What is kept is what is seen; the rest is only counted."""
    stdio = Stdio(capture=Capture.SEPARATE, most_stdout=1000)
    go, loud = tmp_path / "go", "head -c 3000000 /dev/zero"
    combined, first = await gated(runner, go, then=loud)
    apart, other = await gated(runner, go, stdio, loud)

    async with asyncio.timeout(20):
        seen, seen_apart = await asyncio.gather(
            rest_of(runner, combined, go), rest_of(runner, apart, go)
        )

    assert seen == b"early\n".ljust(LARGEST_HEAD_BYTES, b"\0")
    assert seen_apart == b"early\n".ljust(1000, b"\0")
    assert (await first).output.total_bytes == (await other).output.total_bytes == 3_000_006


async def rest_of(runner: Runner, run_id: ApprovalId, go: Path) -> bytes:
    """Watch a run from its first words, then let it continue to its end."""
    chunks = runner.watch(run_id)
    seen = (await anext(chunks)).data
    go.touch()
    return seen + b"".join([chunk.data async for chunk in chunks])


async def test_a_slow_watcher_holds_nothing_up(runner: Runner, tmp_path: Path) -> None:
    """A run ends in its own time; a watcher that pauses still gets all that is kept."""
    run_id, task = await gated(runner, tmp_path / "go", then="head -c 5000000 /dev/zero")
    chunks = runner.watch(run_id)
    first = await anext(chunks)
    (tmp_path / "go").touch()
    began = time.monotonic()

    done = await task
    took = time.monotonic() - began
    rest = [chunk async for chunk in chunks]

    assert done.output.total_bytes == 5_000_006
    assert took < 5
    assert joined([first, *rest]) == b"early\n".ljust(LARGEST_HEAD_BYTES, b"\0")


async def test_a_vanished_watcher_leaves_nothing_behind(runner: Runner) -> None:
    """Watchers that are cancelled, or stop in the middle, cost no descriptor afterwards."""

    def opened() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    await shell(runner, "true")
    before = opened()
    for stdio in CAPTURES.values():
        run_id, start = new_run(), Start()
        plan = scripted("while :; do echo x; sleep 0.01; done", stdio)
        task = asyncio.create_task(runner.run(run_id, plan, start))
        await start.started.wait()
        watching = [asyncio.create_task(watched(runner, run_id)) for _ in range(3)]
        stopped = runner.watch(run_id)
        await anext(stopped)
        for one in watching:
            one.cancel()
        await asyncio.gather(*watching, return_exceptions=True)
        await runner.cancel(run_id)
        assert "x" in (await task).output.text

    await until(lambda: opened() <= before + 2)  # warm supervisors come and go


async def test_a_byte_by_byte_flood_is_watched_at_ease(runner: Runner, tmp_path: Path) -> None:
    """A command that prints single bytes does not occupy the gateway: checks are spaced out."""
    flood = "exec dd if=/dev/zero bs=1 count=200000 status=none"
    run_id, task = await gated(runner, tmp_path / "go", then=flood)
    chunks = runner.watch(run_id)
    seen = [await anext(chunks)]
    (tmp_path / "go").touch()

    seen += [chunk async for chunk in chunks]
    done = await task

    assert len(joined(seen)) == done.output.total_bytes == 200_006
    assert len(seen) <= 5 + done.duration_ms / 5


async def test_watching_spoils_no_supervisor(runner: Runner) -> None:
    """Runs watched at their very end leave no message behind for the supervisor's next job."""
    for _ in range(30):
        run_id = new_run()
        job = asyncio.ensure_future(runner.run(run_id, scripted("true"), Start()))
        await asyncio.sleep(0)
        while not job.done():
            await watched(runner, run_id)
            await asyncio.sleep(0)
        assert (await job).exit_code == 0
    assert (await shell(runner, "echo ok")).output.text == "ok\n"


async def test_what_a_dead_supervisor_left_is_seen(runner: Runner) -> None:
    """If the end was not seen, the watcher still ends, with what arrived until then."""
    run_id, start = new_run(), Start()
    plan = scripted("echo here; sleep 60", APART)
    task = asyncio.create_task(runner.run(run_id, plan, start))
    await start.started.wait()
    chunks = runner.watch(run_id)
    first = await anext(chunks)
    assert start.identity is not None

    os.kill(start.identity[0], signal.SIGKILL)
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
    await runner.run(run_id, scripted("echo x"), Start())

    assert await watched(runner, run_id) == []
    assert await watched(runner, ApprovalId("0" * 26)) == []


async def test_a_run_that_never_starts_ends_its_watchers(runner: Runner) -> None:
    """A watcher of a run that is refused at the claim is released."""
    run_id = new_run()
    task = asyncio.create_task(runner.run(run_id, scripted("true"), Start(grants=False)))
    await asyncio.sleep(0)

    async with asyncio.timeout(10):
        seen = await watched(runner, run_id)

    assert seen == []
    with pytest.raises(Exception, match="claimed"):
        await task


async def test_only_a_watched_run_is_kept_here(runner: Runner, tmp_path: Path) -> None:
    """Without a watcher the gateway keeps nothing of a run; with one, as long as it is there."""

    def kept() -> int:
        return Path("/proc/self/maps").read_text().count("sayso-output")

    go = tmp_path / "go"
    run_id, task = await gated(runner, go)
    before = kept()
    seen: set[int] = set()

    async def look(number: int) -> None:
        async for _ in runner.watch(run_id):
            seen.add(number)

    watching = [asyncio.create_task(look(number)) for number in range(3)]
    await until(lambda: len(seen) == 3)
    during = kept()
    go.touch()
    await asyncio.gather(task, *watching)

    assert (before, during) == (0, 1)
    await until(lambda: kept() == 0)

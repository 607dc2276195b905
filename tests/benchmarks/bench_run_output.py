"""Drain 1 GB with the cap of 200,000 characters, against reading it into one buffer and forgetting.

Both in one run, in turn, so that the ratio is right while the machine's speed drifts. The floor
does the least that keeps a command running: a pipe as wide as ours, `readv` over and over, nothing
kept.
"""

import asyncio
import fcntl
import os
import statistics
import time

import pytest

from core.model.stdio import PLAIN_STDIO, Capture, Stdio
from core.runner.runner import Runner
from tests.benchmarks.bench_spawn import say
from tests.support.memory_use import peak_kb
from tests.support.pace import slowness
from tests.support.runs import Start, new_run, planned, request, running

BYTES = 1_000_000_000
ROUNDS = 3
GOAL_GB_S = 1.0
MOST_KB = 32 * 1024
HEAD = ("/usr/bin/head", "-c", str(BYTES), "/dev/zero")


def floor() -> float:
    """Return the seconds that a bare reader takes."""
    start = time.perf_counter()
    outlet, inlet = os.pipe2(os.O_CLOEXEC)
    fcntl.fcntl(outlet, fcntl.F_SETPIPE_SZ, 1 << 20)
    actions = [(os.POSIX_SPAWN_DUP2, inlet, 1)]
    pid = os.posix_spawn(HEAD[0], HEAD, {}, file_actions=actions)
    os.close(inlet)
    buffer, total = bytearray(1 << 18), 0
    while count := os.readv(outlet, [buffer]):
        total += count
    os.close(outlet)
    os.waitpid(pid, 0)
    assert total == BYTES
    return time.perf_counter() - start


async def drained(runner: Runner, stdio: Stdio) -> tuple[float, int]:
    """Return the seconds that a run takes, and its supervisor's peak memory (KiB)."""
    run_start, peak = Start(), 0
    plan = planned(request(argv=HEAD, stdio=stdio))
    start = time.perf_counter()
    task = asyncio.create_task(runner.run(new_run(), plan, run_start))
    await run_start.started.wait()
    assert run_start.identity is not None
    while not task.done():
        peak = max(peak, peak_kb(run_start.identity[0]))
        await asyncio.sleep(0.02)
    done = await task
    elapsed = time.perf_counter() - start
    assert (done.exit_code, done.output.total_bytes) == (0, BYTES)
    assert len(done.output.text) == 200_000
    assert done.output.tail == "\0" * 20_000
    return elapsed, peak


@pytest.mark.benchmark
@pytest.mark.parametrize("capture", [Capture.COMBINED, Capture.SEPARATE])
async def test_output(capsys: pytest.CaptureFixture[str], capture: Capture) -> None:
    """A gigabyte is counted, cut, and drained as fast as it arrives, in flat memory."""
    stdio = PLAIN_STDIO if capture is Capture.COMBINED else Stdio(capture=capture)
    ours: list[float] = []
    floors: list[float] = []
    peaks: list[int] = []
    async with running() as runner:
        for _ in range(ROUNDS):
            seconds, peak = await drained(runner, stdio)
            ours.append(BYTES / seconds / 1e9)
            peaks.append(peak)
            floors.append(BYTES / floor() / 1e9)
    run, bare = statistics.median(ours), statistics.median(floors)
    say(
        capsys,
        f"1 GB of output, {capture}: {run:.2f} GB/s (goal >= {GOAL_GB_S:.0f}); bare reader "
        f"{bare:.2f} GB/s; ratio {run / bare:.2f}; supervisor at most {max(peaks) / 1024:.1f} MiB",
    )
    assert run > GOAL_GB_S / 4 / slowness()
    assert 0 < max(peaks) < MOST_KB

"""Run 64 commands at once, each to its own deadline, and measure how late each end is reported.

The floor is the least that keeps 64 deadlines: spawn 64 sleepers, sleep until the next deadline,
TERM, wait. Both in one run.
"""

import asyncio
import os
import signal
import statistics
import time

import pytest

from core.runner.runner import Runner
from tests.benchmarks.bench_spawn import say
from tests.support.runs import Start, new_run, planned, request, running

RUNS = 64
FIRST_MS, STEP_MS = 1500, 10
GOAL_MS = 100.0
SLEEP = ("/usr/bin/sleep", "60")


def deadlines() -> list[int]:
    """Return when each must end (ms after its start)."""
    return [FIRST_MS + STEP_MS * number for number in range(RUNS)]


def floor() -> list[float]:
    """Return how late (ms) each bare child is collected after its deadline."""
    children = []
    for deadline_ms in deadlines():
        began = time.perf_counter()
        children.append((os.posix_spawn(SLEEP[0], SLEEP, {}), began + deadline_ms / 1000))
    late = []
    for pid, deadline in sorted(children, key=lambda child: child[1]):
        time.sleep(max(0.0, deadline - time.perf_counter()))
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        late.append((time.perf_counter() - deadline) * 1000)
    return late


def bare_sleepers() -> float:
    """Return the seconds that as many bare children take, spawned one after the other."""
    began = time.perf_counter()
    children = [os.posix_spawn(SLEEP[0], ("sleep", "0.5"), {}) for _ in range(RUNS)]
    for pid in children:
        os.waitpid(pid, 0)
    return time.perf_counter() - began


async def ended(runner: Runner, timeout_ms: int) -> tuple[float, float]:
    """Return how long (ms) a run waits for its start, and how late its end is then reported."""
    plan = planned(request(argv=SLEEP, timeout_ms=timeout_ms))
    start, began = Start(), time.perf_counter()
    task = asyncio.create_task(runner.run(new_run(), plan, start))
    await start.started.wait()
    started = time.perf_counter()
    done = await task
    assert (done.timed_out, done.signal) == (True, 15)
    late = (time.perf_counter() - started) * 1000 - timeout_ms
    # Its time had begun a little before its start was reported, hence the supervisor's own figure.
    return (started - began) * 1000, max(late, done.duration_ms - timeout_ms)


@pytest.mark.deep
@pytest.mark.benchmark
async def test_deadlines(capsys: pytest.CaptureFixture[str]) -> None:
    """No deadline of 64 concurrent runs is missed, and none comes early."""
    async with running() as runner:
        await ended(runner, 50)
        figures = await asyncio.gather(*(ended(runner, one) for one in deadlines()))
    waits, late = (sorted(column) for column in zip(*figures, strict=True))
    bare = sorted(await asyncio.to_thread(floor))
    say(
        capsys,
        f"{RUNS} concurrent runs, each to its deadline: told late by p50 "
        f"{statistics.median(late):.1f} ms, max {late[-1]:.1f} ms (goal <= {GOAL_MS:.0f}); "
        f"begun after p50 {statistics.median(waits):.1f} ms, max {waits[-1]:.1f} ms; bare "
        f"children late by p50 {statistics.median(bare):.1f} ms, max {bare[-1]:.1f} ms",
    )
    assert late[0] >= 0
    assert late[-1] < 10 * GOAL_MS


@pytest.mark.deep
@pytest.mark.benchmark
async def test_ends_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Of 64 concurrent runs that would end in time, none is ended by its deadline."""
    plan = planned(request(argv=("/usr/bin/sleep", "0.5"), timeout_ms=5000))
    async with running() as runner:
        began = time.perf_counter()
        done = await asyncio.gather(*(runner.run(new_run(), plan, Start()) for _ in range(RUNS)))
        elapsed = time.perf_counter() - began
    bare = await asyncio.to_thread(bare_sleepers)
    say(
        capsys,
        f"{RUNS} x `sleep 0.5` at once: {elapsed:.2f} s, bare {bare:.2f} s; ratio "
        f"{elapsed / bare:.2f}x; 0 missed",
    )
    assert [one for one in done if one.timed_out or one.exit_code != 0] == []

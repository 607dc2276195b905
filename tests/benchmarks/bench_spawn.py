"""Time plan and Runner.run of /usr/bin/true against posix_spawn + wait.

Both in one run, in turn, so that the ratio is right while the machine's speed drifts. Before each
floor the launcher gets time to fork the next supervisor: that work is ours and must not slow the
floor down. `rested` leaves the same pause before our run, `in a row` leaves none.
"""

import asyncio
import os
import statistics
import time

import pytest

from core.planning.planner import Planner
from core.runner.runner import Runner
from tests.support.pace import Pace
from tests.support.runs import POLICY, Start, new_run, planned, request, running

ROUNDS = 250
GOAL = 2.5
PLAN_GOAL_US = 40.0
PAUSE_S = 0.004


def spawn_floor() -> float:
    """Return the seconds that posix_spawn and wait take for /usr/bin/true."""
    start = time.perf_counter()
    pid = os.posix_spawn("/usr/bin/true", ["true"], {})
    os.waitpid(pid, 0)
    return time.perf_counter() - start


async def ours(runner: Runner) -> float:
    """Return the seconds that a bound plan takes from verifying to its result."""
    plan = planned(request(argv=("/usr/bin/true",)))
    start = time.perf_counter()
    done = await runner.run(new_run(), plan, Start())
    elapsed = time.perf_counter() - start
    assert done.exit_code == 0
    return elapsed


def say(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Print a line past pytest's capture."""
    with capsys.disabled():
        print(f"\n{words}")


@pytest.mark.benchmark
@pytest.mark.parametrize("pause_s", [0.0, PAUSE_S], ids=["in a row", "rested"])
async def test_spawn(capsys: pytest.CaptureFixture[str], pause_s: float) -> None:
    """A run under a supervisor, verified, limited and drained, as a ratio to its spawn."""
    runs: list[float] = []
    floors: list[float] = []
    async with running() as runner:
        for _ in range(ROUNDS):
            await asyncio.sleep(pause_s)
            runs.append(await ours(runner))
            await asyncio.sleep(PAUSE_S)
            floors.append(spawn_floor())
    runs.sort()
    run, floor = statistics.median(runs), statistics.median(floors)
    way = "rested" if pause_s else "in a row"
    say(
        capsys,
        f"Runner.run of /usr/bin/true, {way}: p50 {run * 1e3:.2f} ms, "
        f"p99 {runs[int(ROUNDS * 0.99)] * 1e3:.2f} ms; posix_spawn+wait p50 {floor * 1e3:.2f} ms; "
        f"ratio {run / floor:.2f}x (goal <= {GOAL}x)",
    )
    assert run / floor < 4 * GOAL


@pytest.mark.benchmark
def test_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """Planning a simple command whose program was hashed before."""
    planner, wish, times, pace = Planner(), request(argv=("ls", "-l")), [], Pace()
    for number in range(5000):
        if number % 50 == 0:
            pace.sample()
        start = time.perf_counter()
        planner.plan(wish, POLICY)
        times.append(time.perf_counter() - start)
    stat = []
    for _ in range(5000):
        start = time.perf_counter()
        os.stat("/usr/bin/ls")  # noqa: PTH116 - the floor is the bare call
        stat.append(time.perf_counter() - start)
    plan_us, stat_us = statistics.median(times) * 1e6, statistics.median(stat) * 1e6
    say(
        capsys,
        f"plan of `ls -l`, warm: p50 {plan_us:.1f} us; one stat {stat_us:.1f} us; "
        f"ratio {plan_us / stat_us:.0f}x (goal <= {PLAN_GOAL_US:.0f} us)",
    )
    assert plan_us < 4 * PLAN_GOAL_US * pace.slowness()

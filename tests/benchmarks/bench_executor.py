"""Time executors: start to pong, a call, and a whole run against one of the gateway's own user.

All in one run and in turn, next to their floors: a Python that does nothing, an echo over a socket
pair between two processes. They are started by setpriv; sudo adds about 5 ms to a start.
"""

import asyncio
import os
import socket
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import pytest

from bot.executor_setup.archive import interpreter
from core.isolation.upkeep import Options
from core.runner.runner import Runner
from tests.support.executors import BUILD, USER, executors
from tests.support.runs import Start, new_run, planned, request, running
from tests.support.waiting import until

STARTS, CALLS, RUNS = 40, 2000, 30
START_GOAL, CALL_GOAL, RUN_GOAL = 5.0, 4.0, 0.25
"""How many times its floor a start to pong, and a call, may take; how much longer a run may."""


def say(capsys: pytest.CaptureFixture[str], words: str) -> None:
    """Print a line past pytest's capture."""
    with capsys.disabled():
        print(f"\n{words}")


def spread(seconds: list[float]) -> str:
    """Return median and 99th percentile in ms."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
    return f"p50 {statistics.median(ordered) * 1000:.2f} ms, p99 {p99 * 1000:.2f} ms"


def python_floor() -> float:
    """Return the seconds that an isolated Python takes to start and end."""
    begin = time.perf_counter()
    subprocess.run([interpreter(), "-ISXutf8", "-c", "pass"], check=True)
    return time.perf_counter() - begin


@pytest.mark.benchmark
async def test_start_to_pong(capsys: pytest.CaptureFixture[str], executor_path: str) -> None:
    """Cold, and with a spare; S2: below 500 ms."""
    cold: list[float] = []
    floors: list[float] = []
    async with executors(executor_path) as world:
        for _ in range(STARTS):
            begin = time.perf_counter()
            executor = await world.pool.take(USER)
            cold.append(time.perf_counter() - begin)
            world.pool.drop(executor)
            await until(lambda: world.pool.live == 0)
            floors.append(python_floor())
    warm: list[float] = []
    async with executors(executor_path, options=Options(BUILD, warm_spare=True)) as world:
        world.pool.drop(await world.pool.take(USER))
        for _ in range(STARTS):
            await until(lambda: USER in world.pool._spares)
            begin = time.perf_counter()
            executor = await world.pool.take(USER)
            await executor.client.call("ping", {}, 5)
            warm.append(time.perf_counter() - begin)
            world.pool.drop(executor)
    ratio = statistics.median(cold) / statistics.median(floors)
    say(capsys, f"start to pong: {spread(cold)} ({ratio:.1f} x an empty Python: {spread(floors)})")
    say(capsys, f"spare to pong: {spread(warm)}")

    assert ratio <= START_GOAL
    assert statistics.median(cold) < 0.5
    assert statistics.median(warm) < statistics.median(cold) / 4


@asynccontextmanager
async def echo_floor() -> AsyncIterator[Callable[[], Awaitable[float]]]:
    """Yield a coroutine that times one echo of another process.

    Over asyncio's streams, as a call is.
    """
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        ours.close()
        while data := theirs.recv(4096):
            theirs.sendall(data)
        os._exit(0)
    theirs.close()
    reader, writer = await asyncio.open_connection(sock=ours)

    async def once() -> float:
        begin = time.perf_counter()
        writer.write(b"x" * 60)
        await reader.readexactly(60)
        return time.perf_counter() - begin

    yield once
    writer.close()
    await writer.wait_closed()
    await asyncio.to_thread(os.waitpid, pid, 0)


@contextmanager
def one_core() -> Iterator[None]:
    """Keep this thread, and what it starts, on one core.

    Elsewhere the kernel places two processes on one core or on two as it likes, and waking another
    core costs six times an echo: the ratio would show where each was placed.
    """
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@pytest.mark.benchmark
async def test_a_call(capsys: pytest.CaptureFixture[str], executor_path: str) -> None:
    """S2: below 1 ms."""
    calls: list[float] = []
    floors: list[float] = []
    with one_core():
        await timed_calls(executor_path, calls, floors)
    ratio = statistics.median(calls) / statistics.median(floors)
    say(capsys, f"a call: {spread(calls)} ({ratio:.1f} x an echo: {spread(floors)})")

    assert ratio <= CALL_GOAL
    assert statistics.median(calls) < 0.001


async def timed_calls(executor_path: str, calls: list[float], floors: list[float]) -> None:
    """Time calls of an executor and echoes of another process, in turn."""
    async with executors(executor_path) as world, echo_floor() as once:
        executor = await world.pool.take(USER)
        for _ in range(CALLS):
            begin = time.perf_counter()
            await executor.client.call("ping", {}, 5)
            calls.append(time.perf_counter() - begin)
            floors.append(await once())


async def timed(runner: Runner) -> tuple[float, float]:
    """Return the seconds that a plan takes: in all, and from the claim on, beyond the start."""
    plan = planned(request(argv=("/usr/bin/sleep", "0.2")))
    claimed = [0.0]
    begin = time.perf_counter()
    start = Start(before_claim=lambda: claimed.append(time.perf_counter()))
    done = await runner.run(new_run(), plan, start)
    assert done.exit_code == 0
    end = time.perf_counter()
    return end - begin, end - claimed[-1]


@pytest.mark.benchmark
async def test_a_whole_run(capsys: pytest.CaptureFixture[str], executor_path: str) -> None:
    """Beyond its start, a run in an executor takes as long as any other."""
    own: list[tuple[float, float]] = []
    other: list[tuple[float, float]] = []
    warm = replace(Options(BUILD), warm_spare=True)
    async with running() as runner, executors(executor_path, options=warm) as world:
        theirs = world.executors.runner(USER)
        await timed(theirs)
        for _ in range(RUNS):
            await until(lambda: USER in world.pool._spares)
            own.append(await timed(runner))
            other.append(await timed(theirs))
    for place, what in enumerate(("in all", "from the claim on")):
        ours, others = [one[place] for one in own], [one[place] for one in other]
        more = statistics.median(others) / statistics.median(ours) - 1
        say(
            capsys,
            f"`sleep 0.2` {what}: {spread(ours)}; in a spare: {spread(others)} ({more:+.1%})",
        )
        assert more < RUN_GOAL

"""Notice a run that multiplies without end, kill all of it, and let its neighbours continue.

The swarms here are bounded in themselves (2,048 processes, 4 seconds), so that a missing guard
fails a test and not the machine.
"""

import asyncio
import sys
import time

import pytest

from core.runner.limits import Limits
from tests.support.runs import (
    Start,
    marked,
    new_run,
    planned,
    request,
    running,
    shell,
)

SWARM = """
import os, signal, sys, time
end = time.monotonic() + float(sys.argv[2])
if "gone" in sys.argv and os.fork():
    os._exit(0)
if "deaf" in sys.argv:
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
for _ in range(int(sys.argv[1])):
    if os.fork() == 0 and "away" in sys.argv:
        os.setsid()
while time.monotonic() < end:
    time.sleep(0.05)
"""
"""Each of N rounds doubles it: 2**N processes that then wait."""


def swarm(rounds: int, *words: str, seconds: float = 60) -> tuple[str, ...]:
    """Return the vector of a swarm."""
    return (sys.executable, "-I", "-S", "-c", SWARM, str(rounds), str(seconds), *words)


@pytest.mark.parametrize("words", [(), ("deaf",), ("deaf", "away")])
async def test_a_swarm_is_ended(words: tuple[str, ...]) -> None:
    """Two thousand processes, including deaf ones and ones in other sessions, are ended soon."""
    async with running(Limits(processes=100)) as runner:
        for _ in range(3):  # the machine may freeze: what takes longer does so each time
            run_id = new_run()
            began = time.monotonic()

            done = await runner.run(run_id, planned(request(argv=swarm(11, *words))), Start())

            took = time.monotonic() - began
            assert done.signal == 9
            assert "too many processes" in done.output.text
            assert marked(run_id) == []
            if took < 4:
                break
        assert took < 4
        assert (await shell(runner, "echo on")).output.text == "on\n"


async def test_a_swarm_whose_head_has_gone_is_not_waited_for() -> None:
    """It does not use the grace period after the end of the run to grow."""
    async with running(Limits(processes=100, grace_ms=10_000)) as runner:
        argv = swarm(11, "gone", "deaf", "away")
        for _ in range(3):
            run_id = new_run()

            done = await runner.run(run_id, planned(request(argv=argv)), Start())

            assert marked(run_id) == []
            if done.duration_ms < 3500:
                break
        assert done.duration_ms < 3500


async def test_a_crowd_within_the_limit_is_left_alone() -> None:
    """The control: as many as allowed live until they end."""
    async with running(Limits(processes=100)) as runner:
        run_id = new_run()

        done = await runner.run(run_id, planned(request(argv=swarm(6, seconds=1))), Start())

        assert (done.exit_code, done.output.text) == (0, "")
        assert done.duration_ms > 900
        assert marked(run_id) == []


async def test_a_neighbour_is_no_part_of_it() -> None:
    """A quiet run next to a swarm is not taken for one, however many the machine has."""
    async with running(Limits(processes=100)) as runner:
        quiet = asyncio.create_task(shell(runner, "sleep 1.5; echo quiet"))
        loud = await runner.run(new_run(), planned(request(argv=swarm(11, "away"))), Start())

        assert loud.signal == 9
        assert (await quiet).output.text == "quiet\n"

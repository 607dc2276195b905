"""Let a plan bring its own CPU limit, below or above the configured one."""

import asyncio
import sys
import time
from pathlib import Path

import pytest

from core.model.decision import DenialReason
from core.runner.limits import Limits
from core.runner.runner import Runner
from tests.support.runs import planned, refused, request, run, running, shell

CPU = "import resource; print(*resource.getrlimit(resource.RLIMIT_CPU))"
SPIN = "while :; do :; done"


async def limits_of(runner: Runner, cpu_s: int | None) -> str:
    """Return the CPU limits that a command finds."""
    argv = (sys.executable, "-I", "-S", "-c", CPU)
    return (await run(runner, request(argv=argv, cpu_s=cpu_s))).output.text.strip()


async def test_a_plan_has_its_own_cpu_limit(runner: Runner) -> None:
    """Lower and higher ones take turns with the configured one, and none touches the next run."""
    for _ in range(3):
        assert await limits_of(runner, None) == "60 65"
        assert await limits_of(runner, 5) == "5 10"
        assert await limits_of(runner, 600) == "600 605"
        assert await limits_of(runner, 60) == "60 65"


async def test_many_limits_at_once(runner: Runner) -> None:
    """Supervisors for special limits and ordinary ones do not wait for one another."""
    wanted = [None, 5, 600, 60, 7, None, 5, 600] * 3
    began = time.monotonic()

    found = await asyncio.gather(*(limits_of(runner, one) for one in wanted))

    assert found == [f"{one or 60} {(one or 60) + 5}" for one in wanted]
    assert time.monotonic() - began < 10


async def test_the_own_limit_ends_a_run() -> None:
    """SIGXCPU arrives at the plan's seconds, long before the configured ones."""
    async with running(Limits(cpu_s=60, cpu_kill_s=65)) as runner:
        wish = request(argv=("/bin/sh", "-c", SPIN), cpu_s=1)

        done = await run(runner, wish)

        assert (done.signal, done.timed_out) == (24, False)
        assert done.duration_ms < 10_000
        assert (await shell(runner, "echo on")).output.text == "on\n"


@pytest.mark.parametrize("cpu_s", [0, -1])
def test_a_limit_of_nothing_is_refused(cpu_s: int) -> None:
    """A CPU limit is at least a second."""
    assert refused(request("true", cpu_s=cpu_s)).reason is DenialReason.BAD_REQUEST


def test_the_limit_is_part_of_the_plan() -> None:
    """Another limit is another digest."""
    digests = {planned(request("true", cpu_s=cpu_s)).digest for cpu_s in (None, 1, 2)}

    assert len(digests) == 3


async def test_the_kernel_ends_commands_first_when_memory_runs_out(runner: Runner) -> None:
    """Before the gateway, whose own score is unchanged."""
    own = Path("/proc/self/oom_score_adj").read_text()
    done = await run(runner, request("cat /proc/self/oom_score_adj"))

    assert done.output.text == "1000\n"
    assert Path("/proc/self/oom_score_adj").read_text() == own != "1000\n"

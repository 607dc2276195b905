"""Time a warm run inside bubblewrap against posix_spawn + wait, in one run and in turn.

The floor is a bare spawn of /usr/bin/true; `bare` is bubblewrap spawned with the same options but
without us. The machine's own work between two of our runs (a supervisor that is forked, namespaces
that the kernel takes down) gets the same pause each time.
"""

import asyncio
import os
import statistics
import time
from pathlib import Path

import pytest

from core.hosts.sandbox.bubblewrap import Bubblewrap
from tests.core.hosts.sandbox.enclosed import House, bwrap, places_for, sandbox
from tests.core.runner.runs import Watcher, new_run

ROUNDS = int(os.environ.get("SAYSO_SANDBOX_ROUNDS", "60"))
GOAL = 10.0
PAUSE_S = 0.004
TRUE = ("/usr/bin/true",)
ROOT = (
    *("--ro-bind", "/usr", "/usr", "--symlink", "usr/lib", "/lib"),
    *("--symlink", "usr/lib64", "/lib64"),
)


def spawned(words: tuple[str, ...]) -> float:
    """Return the seconds that posix_spawn and wait take."""
    start = time.perf_counter()
    pid = os.posix_spawn(words[0], words, {})
    _, status = os.waitpid(pid, 0)
    elapsed = time.perf_counter() - start
    assert status == 0
    return elapsed


async def inside(house: House, folder: Path) -> float:
    """Return the seconds that a plan takes in the sandbox, from verifying to its result."""
    plan = house.plan(TRUE, folder)
    start = time.perf_counter()
    done = await house.host.run(new_run(), plan, Watcher())
    elapsed = time.perf_counter() - start
    assert done.exit_code == 0, done
    return elapsed


def bare() -> tuple[str, ...]:
    """Return bubblewrap with the namespaces and the root of our runs, and nothing else."""
    ours = Bubblewrap(bwrap(), places_for(Path("/nonexistent")), network=False)
    words = [one for one in ours.fixed_options() if one not in {"--seccomp", "3"}]
    return (bwrap(), *words, *ROOT, *TRUE)


@pytest.mark.benchmark
async def test_sandbox(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A warm run inside, with and without a workspace, as ratios to a spawn."""
    times: dict[str, list[float]] = {"floor": [], "bare": [], "workspace": [], "none": []}
    async with sandbox(tmp_path) as house:
        await inside(house, house.workspace)
        for _ in range(ROUNDS):
            for name, once in (("workspace", house.workspace), ("none", Path("/"))):
                await asyncio.sleep(PAUSE_S)
                times[name].append(await inside(house, once))
            for name, words in (("bare", bare()), ("floor", TRUE)):
                await asyncio.sleep(PAUSE_S)
                times[name].append(spawned(words))
    p50 = {name: statistics.median(one) for name, one in times.items()}
    with capsys.disabled():
        print(f"\nposix_spawn+wait of /usr/bin/true: p50 {p50['floor'] * 1e3:.2f} ms")
        for name, what in (
            ("bare", "bubblewrap alone, its namespaces and root"),
            ("none", "SandboxHost.run, no workspace"),
            ("workspace", "SandboxHost.run, with a workspace"),
        ):
            ratio = p50[name] / p50["floor"]
            print(f"{what}: p50 {p50[name] * 1e3:.2f} ms; ratio {ratio:.1f}x (goal <= {GOAL:.0f}x)")
    assert p50["workspace"] < 4 * GOAL * p50["floor"]

"""Time a warm run inside bubblewrap against posix_spawn + wait, in one run and in turn.

The floor is a bare spawn of /usr/bin/true. A sandboxed run goes through five processes, so a busy
machine slows it down more than the floor: `chrt -f 20` before the command takes that out. Between
two of them is a pause, because the kernel takes namespaces down afterwards. Root pays for covering
files that only it may read.
"""

import asyncio
import os
import statistics
import time
from dataclasses import replace
from pathlib import Path

import pytest

from core.hosts.sandbox.backends.bubblewrap import Bubblewrap
from core.hosts.sandbox.filesystem.layout import places_of
from tests.support.runs import Start, new_run
from tests.support.sandbox import HomeBeside, bwrap, over, places_for, sandbox

ROUNDS = int(os.environ.get("SAYSO_SANDBOX_ROUNDS", "60"))
GOAL = 10.0
PAUSE_S = 0.004
TRUE = ("/usr/bin/true",)
WORDS = {
    "floor": "posix_spawn and wait of /usr/bin/true",
    "bare": "bubblewrap by itself, with our namespaces",
    "none": "a run without a workspace",
    "workspace": "a run with a workspace",
    "landlock": "the same with sandbox.landlock",
}
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


async def inside(house: HomeBeside, folder: Path) -> float:
    """Return the seconds that a plan takes in the sandbox, from verifying to its result."""
    plan = house.plan(TRUE, folder)
    start = time.perf_counter()
    done = await house.host.run(new_run(), plan, Start())
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
    """A warm run inside, with and without a workspace and Landlock, as ratios to a spawn."""
    times: dict[str, list[float]] = {name: [] for name in WORDS}
    async with sandbox(tmp_path) as house:
        plain = places_of([house.home], str(Path.home()))
        usual = Bubblewrap(bwrap(), plain, network=False)
        ruled = Bubblewrap(bwrap(), places_for(house.home), network=False, landlock=True)
        async with (
            over(house.runner, usual, house.home) as host,
            over(house.runner, ruled, house.home) as landlocked,
        ):
            outer, inner = replace(house, host=host), replace(house, host=landlocked)
            ways = (("none", outer, Path("/")), ("workspace", outer, house.workspace))
            for one in (outer, inner):
                await inside(one, house.workspace)
            for _ in range(ROUNDS):
                for name, one, folder in (*ways, ("landlock", inner, house.workspace)):
                    await asyncio.sleep(PAUSE_S)
                    times[name].append(await inside(one, folder))
                for name, words in (("bare", bare()), ("floor", TRUE)):
                    await asyncio.sleep(PAUSE_S)
                    times[name].append(spawned(words))
    p50 = {name: statistics.median(one) for name, one in times.items()}
    with capsys.disabled():
        print()
        for name, what in WORDS.items():
            print(f"{what}: p50 {p50[name] * 1e3:.2f} ms, {p50[name] / p50['floor']:.1f}x")
        print(f"(goal: a warm run <= {GOAL:.0f}x)")
    assert p50["workspace"] < 4 * p50["bare"]

"""Time `python3 x.py` with its script delivered at each opening against the same without.

Both in one run, in turn, by two launchers: one with the delivery switched off. It is the runner
alone; `sayso run` adds the client and the gateway, so its ratio is lower.
"""

import asyncio
import os
import statistics
import time
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from core.runner import pool
from core.runner.runner import Runner
from tests.faults.swaps import UNPROTECTED
from tests.support.runs import Start, new_run, planned, request, running

ROUNDS = int(os.environ.get("SAYSO_DELIVERY_ROUNDS", "60"))
GOAL = 1.3
PAUSE_S = 0.004
PYTHON = "/usr/bin/python3"
SCRIPT = "import json, subprocess\nprint('done')\n"


async def run(runner: Runner, script: Path) -> float:
    """Return the seconds that a bound plan takes from verifying to its result."""
    plan = planned(request(argv=(PYTHON, str(script)), cwd=script.parent))
    start = time.perf_counter()
    done = await runner.run(new_run(), plan, Start())
    elapsed = time.perf_counter() - start
    assert done.output.text == "done\n", done
    return elapsed


@pytest.mark.benchmark
async def test_delivery(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A start of Python, which opens some 60 files, each of them passed to the supervisor."""
    times: dict[bool, list[float]] = {True: [], False: []}
    script = tmp_path / "x.py"
    script.write_text(SCRIPT, encoding="utf-8")
    async with AsyncExitStack() as stack:
        runners = {True: await stack.enter_async_context(running())}
        monkeypatch.setattr(pool, "BOOTSTRAP", UNPROTECTED)
        runners[False] = await stack.enter_async_context(running())
        for _ in range(ROUNDS):
            for delivered, runner in runners.items():
                await asyncio.sleep(PAUSE_S)
                times[delivered].append(await run(runner, script))
    bare, ours = statistics.median(times[False]), statistics.median(times[True])
    with capsys.disabled():
        print(
            f"\npython3 x.py without the delivery: p50 {bare * 1e3:.1f} ms; with it: "
            f"p50 {ours * 1e3:.1f} ms; ratio {ours / bare:.2f}x (goal <= {GOAL}x)"
        )
    assert ours / bare < 2 * GOAL

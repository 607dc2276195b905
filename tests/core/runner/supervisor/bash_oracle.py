"""Compare with bash how pipelines are run."""

import asyncio
from pathlib import Path

from core.runner.runner import Runner
from tests.support.runs import planned, request, run


async def agrees_with_bash(runner: Runner, line: str, cwd: Path) -> None:
    """Run a line both ways and compare output and status."""
    plan = planned(request(line, cwd=cwd))
    assert plan.unreadable is None
    bash = await asyncio.create_subprocess_exec(
        *("bash", "--norc", "-c", line),
        cwd=cwd,
        env=dict(plan.env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await bash.communicate()

    done = await run(runner, request(line, cwd=cwd))

    status = done.exit_code if done.exit_code is not None else 128 + (done.signal or 0)
    assert (done.output.text, status) == (printed.decode(), bash.returncode)

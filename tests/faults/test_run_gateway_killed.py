"""When the gateway is killed, everything that it had started dies with it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from core.runner import procfs
from tests.core.runner.runs import alive, marked, new_run, until

ROOT = Path(__file__).parents[2]

GATEWAY = """
import asyncio, sys
from core.model.identity import ApprovalId
from core.runner.process import Runner
from tests.core.runner.runs import Watcher, planned, request

async def main():
    runner = Runner()
    await runner.start()
    script = "trap '' TERM; setsid sleep 60 & (setsid sleep 60 &) ; sleep 60; sleep 60"
    plan = planned(request(argv=("/bin/sh", "-c", script)))
    print(runner.launcher_pid, flush=True)
    await runner.run(ApprovalId(sys.argv[1]), plan, Watcher())

asyncio.run(main())
"""

UNGUARDED = """
import os, sys, time
env = {"SAYSO_RUN": sys.argv[1]}
os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 60 & sleep 60 & wait"], env, setsid=True)
print(0, flush=True)
time.sleep(60)
"""


@contextmanager
def program(code: str, run_id: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a gateway of its own; yield it and the number that it prints."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, run_id], cwd=ROOT, stdout=subprocess.PIPE
    )
    assert started.stdout is not None
    try:
        yield started, int(started.stdout.readline())
    finally:
        started.kill()
        started.wait()
        started.stdout.close()
        for pid in marked(run_id):
            procfs_kill(pid)


def procfs_kill(pid: int) -> None:
    """End a leftover of a failed test."""
    if alive(pid):
        subprocess.run(["kill", "-9", str(pid)], check=False)


async def test_a_killed_gateway_leaves_nothing_running() -> None:
    """The end of the socket is the word: supervisor, launcher, command and escapees all go."""
    run_id = new_run()
    with program(GATEWAY, run_id) as (gateway, launcher):
        await until(lambda: len(marked(run_id)) == 4)
        assert alive(launcher)

        gateway.send_signal(signal.SIGKILL)

        await until(lambda: marked(run_id) == [], patience_s=5)
        await until(lambda: not alive(launcher), patience_s=5)
    assert [one for one in procfs.processes() if one.sid == launcher and one.alive] == []


async def test_a_plain_child_would_survive() -> None:
    """The control: without a supervisor the processes of a killed gateway live on."""
    run_id = new_run()
    with program(UNGUARDED, run_id) as (gateway, _):
        await until(lambda: len(marked(run_id)) == 3)

        gateway.send_signal(signal.SIGKILL)
        gateway.wait()

        assert len(marked(run_id)) == 3

"""When the gateway is killed, everything that it started dies with it, and quietly."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from core.runner.supervisor.processes import procfs
from tests.support.runs import alive, marked, new_run
from tests.support.waiting import until

ROOT = Path(__file__).parents[2]

GATEWAY = """
import asyncio, sys
from core.model.identity import ApprovalId
from core.runner.runner import Runner
from tests.support.runs import Start, planned, request

async def main():
    runner = Runner()
    await runner.start()
    script = "trap '' TERM; setsid sleep 60 & (setsid sleep 60 &) ; sleep 60; sleep 60"
    plan = planned(request(argv=("/bin/sh", "-c", script)))
    print(runner.launcher_pid, flush=True)
    await runner.run(ApprovalId(sys.argv[1]), plan, Start())

asyncio.run(main())
"""

UNREAD = """
import asyncio, sys
from core.runner import pool
from core.runner.runner import Runner
from tests.support.runs import Start, new_run, planned, request

HEAD, TAIL = pool.BOOTSTRAP.rsplit("from", 1)
pool.BOOTSTRAP = HEAD + sys.argv[2] + "from" + TAIL

async def main():
    runner = Runner()
    await runner.start()
    script = "until [ -e {} ]; do sleep 0.02; done; : {}".format(sys.argv[3], sys.argv[1])
    plan = planned(request(argv=("/bin/sh", "-c", script)))
    runs = [asyncio.create_task(runner.run(new_run(), plan, Start())) for _ in range(6)]
    await asyncio.sleep(0.1)
    print(runner.launcher_pid, flush=True)
    await asyncio.gather(*runs)

asyncio.run(main())
"""
"""A gateway with six runs that end once the file that its third word names exists.

The launcher first does what its second word says.
"""

NO_GUARD = (
    "from core.runner.supervisor import control_channel, protocol; "
    "control_channel.Post.job = lambda self: protocol.receive_job(self._sock); "
)

UNGUARDED = """
import os, sys, time
env = {"SAYSO_RUN": sys.argv[1]}
os.posix_spawn("/bin/sh", ["sh", "-c", "sleep 60 & sleep 60 & wait"], env, setsid=True)
print(0, flush=True)
time.sleep(60)
"""


@contextmanager
def program(
    code: str, run_id: str, *words: str, errors: IO[bytes] | None = None
) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a new gateway; yield it and the pid that it prints."""
    started = subprocess.Popen(
        [sys.executable, "-c", code, run_id, *words],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=errors,
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
    """The end of the socket is the signal: supervisor, launcher, command and escapees all go."""
    run_id = new_run()
    with program(GATEWAY, run_id) as (gateway, launcher):
        await until(lambda: len(marked(run_id)) == 4)
        assert alive(launcher)

        gateway.send_signal(signal.SIGKILL)

        await until(lambda: marked(run_id) == [], seconds=5)
        await until(lambda: not alive(launcher), seconds=5)
    assert [one for one in procfs.processes() if one.sid == launcher and one.alive] == []


async def said_after_a_kill(log: Path, first: str = "") -> str:
    """Kill a gateway with reports that it has not read; return what was written to its log."""
    run_id = new_run()
    words = (run_id, first, str(go := log.with_name(run_id)))
    with log.open("wb") as errors, program(UNREAD, *words, errors=errors) as (gateway, pid):
        await until(lambda: len(named(run_id)) == 6)
        gateway.send_signal(signal.SIGSTOP)
        go.touch()
        await until(lambda: not named(run_id))
        # Each supervisor reports the end of its run and waits for the next, within these turns.
        await until(lambda: all(waits(one) for one in children(pid)))

        gateway.send_signal(signal.SIGKILL)

        await until(lambda: not alive(pid) and not children(pid))
    return log.read_text()


def named(word: str) -> list[int]:
    """Return the living shells that have a word in their command line."""
    found = []
    for one in procfs.processes():
        with suppress(OSError):
            words = Path(f"/proc/{one.pid}/cmdline").read_bytes().split(b"\0")
            if words[0] == b"/bin/sh" and word.encode() in b" ".join(words):
                found.append(one.pid)
    return found


def children(pid: int) -> list[int]:
    """Return the living children of a process."""
    return [one.pid for one in procfs.processes() if one.ppid == pid and one.alive]


def waits(pid: int) -> bool:
    """Return whether a supervisor has collected all of its run and sleeps, waiting for a job."""
    if any(one.ppid == pid for one in procfs.processes()):
        return False
    seen = procfs.process(pid)
    return seen is None or seen.state == "S"


async def test_supervisors_of_a_killed_gateway_are_quiet(tmp_path: Path) -> None:
    """A gateway that dies with unread reports breaks their streams: nothing is written about it."""
    for _ in range(3):
        assert not await said_after_a_kill(tmp_path / "log")


async def test_a_broken_stream_would_be_reported_in_one_line_each(tmp_path: Path) -> None:
    """The control: unguarded, each supervisor fails on it, and even then writes no traceback."""
    lines = (await said_after_a_kill(tmp_path / "log", NO_GUARD)).splitlines()

    assert lines
    assert all("ConnectionResetError" in one and "is replaced" in one for one in lines), lines


async def test_a_plain_child_would_survive() -> None:
    """The control: without a supervisor the processes of a killed gateway survive."""
    run_id = new_run()
    with program(UNGUARDED, run_id) as (gateway, _):
        await until(lambda: len(marked(run_id)) == 3)

        gateway.send_signal(signal.SIGKILL)
        gateway.wait()

        assert len(marked(run_id)) == 3

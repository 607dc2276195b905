"""Leave no survivor of a run, however its children try to escape."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from core.runner.limits import Limits
from core.runner.runner import Runner
from tests.support.runs import Start, alive, marked, new_run, planned, request, running
from tests.support.waiting import until

ESCAPEE = """
import os, signal, sys, time
if "deaf" in sys.argv:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
heard, said = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(said)
        time.sleep(60)
    os._exit(0)
os.close(said)
os.wait()
os.read(heard, 1)
if "wait" in sys.argv:
    time.sleep(60)
"""
"""Forks twice and calls setsid: no longer a child of its parent, nor in its group or session.

The parent continues once the grandchild has printed its pid; otherwise it might be killed before
that.
"""


def escaping(*words: str) -> tuple[str, ...]:
    """Return the vector of a program whose grandchild escapes."""
    return (sys.executable, "-I", "-S", "-c", ESCAPEE, *words)


async def survivors(runner: Runner, *words: str, timeout_ms: int | None = None) -> list[int]:
    """Run an escaping program to its end; return its processes that are still alive."""
    run_id = new_run()
    plan = planned(request(argv=escaping(*words), timeout_ms=timeout_ms))
    done = await runner.run(run_id, plan, Start())
    assert not alive(int(done.output.text.split()[0]))
    return marked(run_id)


@pytest.mark.parametrize("words", [(), ("deaf",)])
@pytest.mark.parametrize("timeout_ms", [None, 1500])
async def test_no_descendant_survives_its_run(
    words: tuple[str, ...], timeout_ms: int | None
) -> None:
    """After the end of a run, or its timeout, the double-forked session leader is gone as well."""
    waits = () if timeout_ms is None else ("wait",)
    async with running(Limits(grace_ms=200)) as runner:
        assert await survivors(runner, *words, *waits, timeout_ms=timeout_ms) == []


async def test_cancelling_leaves_no_descendant() -> None:
    """A person who cancels a run ends all of it."""
    async with running(Limits(grace_ms=200)) as runner:
        run_id, start = new_run(), Start()
        plan = planned(request(argv=escaping("wait", "deaf")))
        task = asyncio.create_task(runner.run(run_id, plan, start))
        await until(lambda: len(marked(run_id)) == 2)
        await runner.cancel(run_id)
        await task

        assert marked(run_id) == []


async def test_killing_the_group_alone_leaves_one() -> None:
    """The control: without the walk the escapee survives, and the check above sees it."""
    run_id = new_run()
    child = subprocess.Popen(  # noqa: ASYNC220 - it starts and is killed within this test
        escaping("wait"),
        env={"SAYSO_RUN": run_id},
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    try:
        assert child.stdout is not None
        await asyncio.to_thread(child.stdout.readline)  # the escapee itself reports that it exists
        await until(lambda: len(marked(run_id)) == 2)

        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

        assert len(marked(run_id)) == 1
    finally:
        for pid in marked(run_id):
            os.kill(pid, signal.SIGKILL)
        if child.stdout is not None:
            child.stdout.close()


async def test_a_background_child_does_not_hold_up_the_end() -> None:
    """A child that keeps the output open is ended with the run instead of waited for."""
    async with running() as runner:
        took = []
        for _ in range(3):  # the machine may freeze once
            run_id = new_run()
            plan = planned(request(argv=("/bin/sh", "-c", "sleep 60 & echo done")))

            done = await runner.run(run_id, plan, Start())

            assert (done.exit_code, done.output.text) == (0, "done\n")
            assert marked(run_id) == []
            took.append(done.duration_ms)
        assert min(took) < 1000


async def test_a_swarm_of_orphans_is_ended() -> None:
    """Forty sessions of orphans that ignore TERM are all killed."""
    swarm = (
        "trap '' TERM; i=0; while [ $i -lt 40 ]; do i=$((i+1)); (setsid sleep 60 &); done; sleep 60"
    )
    async with running(Limits(grace_ms=100)) as runner:
        run_id = new_run()
        plan = planned(request(argv=("/bin/sh", "-c", swarm), timeout_ms=500))

        done = await runner.run(run_id, plan, Start())

        assert done.timed_out
        assert marked(run_id) == []

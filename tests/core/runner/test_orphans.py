import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from core.runner.orphans import end_orphan
from core.runner.supervisor.processes import procfs
from tests.support.runs import alive, marked, new_run
from tests.support.waiting import until

FAMILY = (
    "import os, time\n"
    "for _ in range(2):\n"
    "    if os.fork() == 0:\n"
    "        os.setsid()\n"
    "print(os.getpid(), flush=True)\n"
    "time.sleep(60)"
)


@contextmanager
def left_over(environment: dict[str, str]) -> Iterator[procfs.Process]:
    """Start a tree of four processes, each in its own session, as a killed supervisor leaves it."""
    family = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", FAMILY],
        env=environment,
        start_new_session=True,
        stdout=subprocess.PIPE,
    )
    assert family.stdout is not None
    members = [int(family.stdout.readline()) for _ in range(4)]
    leader = procfs.process(family.pid)
    assert leader is not None
    try:
        yield leader
    finally:
        for pid in members:
            if alive(pid):
                os.kill(pid, signal.SIGKILL)
        family.wait()
        family.stdout.close()


async def test_the_leader_and_its_family_are_ended() -> None:
    """The stored identity is enough, even if the mark was removed."""
    with left_over({}) as leader:
        assert end_orphan(new_run(), leader.pid, leader.pgid, leader.start_ticks, procfs.boot_id())

        assert not alive(leader.pid)
        assert [one for one in procfs.processes() if one.ppid == leader.pid and one.alive] == []


async def test_the_mark_alone_is_enough() -> None:
    """If the gateway died before it could store the leader, the environment reveals it."""
    run_id = new_run()
    with left_over({"SAYSO_RUN": run_id}):
        assert len(marked(run_id)) == 4

        assert end_orphan(run_id, None, None, None, None)

        await until(lambda: marked(run_id) == [])


async def test_a_reused_number_is_left_alone() -> None:
    """Another start time, another boot, another run: each is another user's process."""
    boot = procfs.boot_id()
    with left_over({"SAYSO_RUN": new_run()}) as other:
        pid, ticks = other.pid, other.start_ticks

        assert not end_orphan(new_run(), pid, other.pgid, ticks + 1, boot)
        assert not end_orphan(new_run(), pid, other.pgid, ticks, "another boot")
        assert not end_orphan(new_run(), pid, other.pgid, None, boot)
        assert alive(pid)

        assert end_orphan(new_run(), pid, other.pgid, ticks, boot)  # the control: it all fits


async def test_nothing_left_is_told() -> None:
    """A run whose processes are all gone needs no killing."""
    assert not end_orphan(new_run(), 2**22 + 1, 2**22 + 1, 1, procfs.boot_id())

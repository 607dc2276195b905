"""End a run when it has more processes than it may have, and not a moment before."""

import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator

import pytest

from core.runner.supervisor.processes import procfs
from core.runner.supervisor.processes.fork_bomb import ProcessLimit
from tests.support.waiting import until

TREE = "import os, time\nfor _ in range(3): os.fork()\ntime.sleep(60)"
"""Eight processes: itself and seven descendants."""


@pytest.fixture
async def own() -> AsyncIterator[int]:
    """Yield the number of this process's descendants while there are some."""
    argv = (sys.executable, "-I", "-S", "-c", TREE)
    head = subprocess.Popen(argv, start_new_session=True)  # noqa: ASYNC220 - it only sleeps
    try:
        await until(lambda: procfs.count_descendants(head.pid, 100) == 7)
        yield procfs.count_descendants(os.getpid(), 1000)
    finally:
        os.killpg(head.pid, signal.SIGKILL)
        head.wait()


def _looks(most: int) -> bool:
    limit = ProcessLimit()  # that of a machine without any process: each check counts
    limit.begin(most, 1.0)
    return limit.is_there(2.0)


async def test_one_more_than_the_limit_is_too_many(own: int) -> None:
    """As many as the limit allows are left alone."""
    for _ in range(20):  # what another test started may end in the meantime
        now = procfs.count_descendants(os.getpid(), 1000)
        seen = [_looks(now - 1), _looks(now), _looks(now + 1)]
        if now == procfs.count_descendants(os.getpid(), 1000):
            break
    assert now >= own - 7
    assert seen == [True, False, False]


async def test_it_is_looked_at_now_and_then(own: int) -> None:
    """Not before the next check is due, whatever exists."""
    limit = ProcessLimit()
    limit.begin(own - 1, 60.0)

    assert not limit.is_there(60.0)
    assert 60 < limit.until(100.0) < 100
    assert limit.until(1.0) == 1.0


async def test_what_the_machine_had_before_is_not_counted(own: int) -> None:
    """A machine with many processes whose number has not grown is not searched."""
    limit = ProcessLimit()
    limit.settle()
    limit.begin(procfs.threads(), 1.0)

    assert own > 0
    assert not limit.is_there(2.0)


async def test_a_check_is_due_at_its_time(own: int) -> None:
    """At the moment that ``until`` names, or the supervisor would wake for nothing."""
    limit = ProcessLimit()
    limit.begin(own // 2, 1.0)

    assert limit.until(9.0) == 1.1
    assert not limit.is_there(1.05)
    assert limit.is_there(limit.until(9.0))
    assert limit.until(9.0) == 1.1 + 0.1

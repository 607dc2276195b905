"""End a run when it has more processes than it may have, and not a moment before."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from types import SimpleNamespace

import pytest

from core.runner.supervisor.processes import fork_bomb, procfs
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
    limit.begin(most, time.monotonic() - 1)
    return limit.is_there()


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
    limit, now = ProcessLimit(), time.monotonic()
    limit.begin(own - 1, now + 60)

    assert not limit.is_there()
    assert now + 60 < limit.until(now + 100) < now + 100
    assert limit.until(now + 1) == now + 1


async def test_what_the_machine_had_before_is_not_counted(own: int) -> None:
    """A machine with many processes whose number has not grown is not searched."""
    limit = ProcessLimit()
    limit.settle()
    limit.begin(procfs.threads(), time.monotonic() - 1)

    assert own > 0
    assert not limit.is_there()


@pytest.mark.parametrize(
    ("at", "threads", "own", "ends"),
    [
        (1.0, 9, 9, False),  # not due
        (1.1, 9, 9, True),
        (1.1, 9, 3, False),  # the machine has more, the run has not
        (1.1, 3, 9, False),  # the machine has no more than one run may have
    ],
)
def test_a_check_is_due_at_its_time(
    monkeypatch: pytest.MonkeyPatch, at: float, threads: int, own: int, *, ends: bool
) -> None:
    """At the moment that ``until`` names, or the supervisor would wake for nothing."""
    monkeypatch.setattr(fork_bomb, "time", SimpleNamespace(monotonic=lambda: at))
    monkeypatch.setattr(procfs, "threads", lambda: threads)
    monkeypatch.setattr(procfs, "count_descendants", lambda *_: own)
    limit = ProcessLimit()
    limit.begin(3, 1.0)

    assert limit.until(9.0) == 1.1
    assert limit.is_there() is ends

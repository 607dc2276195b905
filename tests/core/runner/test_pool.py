"""Hand out no dead supervisor, wherever it died."""

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator

import pytest

from core.runner.link import Link
from core.runner.pool import Pool


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    """Run a launcher with one supervisor, and none in advance."""
    made = Pool(warm=0)
    await made.start()
    try:
        yield made
    finally:
        await made.stop()


def _link(*, dead: bool) -> tuple[Link, socket.socket]:
    """Return our end of a supervisor's connection, and the other one."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    if dead:
        theirs.close()
    return Link(ours, os.getpid()), theirs


@pytest.mark.parametrize("dead", [True, False], ids=["dead", "control"])
async def test_who_waits_gets_none_that_died_on_its_way(pool: Pool, *, dead: bool) -> None:
    """It was killed between its fork and its arrival; another one is made."""
    taken = await pool.take()
    os.kill(pool.launcher_pid, signal.SIGSTOP)  # nothing else arrives before the link does
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    link, theirs = _link(dead=dead)
    pool.put_back(link)
    os.kill(pool.launcher_pid, signal.SIGCONT)
    found = await waiting

    try:
        assert (found is link) is not dead
        assert found.idle()
    finally:
        theirs.close()
        taken.close()
        found.close()

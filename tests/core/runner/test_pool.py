"""Supervisors that died are handed to nobody, wherever they were meanwhile."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator

import pytest

from core.runner.link import Link
from core.runner.pool import WARM, Pool


@pytest.fixture
async def pool() -> AsyncIterator[Pool]:
    """Run a launcher with its supervisors."""
    made = Pool()
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
    taken = [await pool.take() for _ in range(WARM)]
    waiting = asyncio.create_task(pool.take())
    await asyncio.sleep(0)
    link, theirs = _link(dead=dead)
    pool.put_back(link)
    found = await waiting

    assert (found is link) is not dead
    assert found.idle()
    theirs.close()
    for one in {*taken, found}:
        one.close()

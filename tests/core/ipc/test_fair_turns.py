"""Start few requests of a user at a time; others and long waits are not delayed."""

import asyncio
import contextlib

import pytest

from core.ipc import fair_turns
from core.ipc.fair_turns import AT_ONCE, FairTurns, Turn

ANN, BEN = 1000, 1001


@pytest.fixture
def lasting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a turn last until it is ended."""
    monkeypatch.setattr(fair_turns, "FOR_S", 3600)


async def all_taken(turns: FairTurns, uid: int) -> list[Turn]:
    """Take as many turns as one user gets."""
    return [await turns.take(uid) for _ in range(AT_ONCE)]


async def waits(turns: FairTurns, uid: int) -> "asyncio.Task[Turn]":
    """Return a task that waits for a turn, once it does."""
    task = asyncio.create_task(turns.take(uid))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    return task


@pytest.mark.usefixtures("lasting")
async def test_the_next_begins_when_one_is_answered() -> None:
    """In order of arrival."""
    turns = FairTurns()
    taken = await all_taken(turns, ANN)
    first, second = await waits(turns, ANN), await waits(turns, ANN)
    taken[2].end()
    await first
    assert not second.done()
    taken[0].end()
    await second


@pytest.mark.usefixtures("lasting")
async def test_another_user_waits_for_nobody() -> None:
    """Each has its own turns."""
    turns = FairTurns()
    await all_taken(turns, ANN)
    await waits(turns, ANN)
    assert len(await all_taken(turns, BEN)) == AT_ONCE


@pytest.mark.usefixtures("lasting")
async def test_a_turn_ends_once() -> None:
    """The answer and the timer may both end it: one slot is free, not two."""
    turns = FairTurns()
    first, *_ = await all_taken(turns, ANN)
    first.end()
    first.end()
    await turns.take(ANN)
    await waits(turns, ANN)


async def test_what_waits_for_people_keeps_no_turn() -> None:
    """A request that is not answered for long lets others start."""
    turns = FairTurns()
    await all_taken(turns, ANN)
    await asyncio.wait_for(turns.take(ANN), 30)


@pytest.mark.usefixtures("lasting")
async def test_who_hangs_up_while_it_waits_takes_no_turn() -> None:
    """A connection that ends in the meantime leaves its slot to the next."""
    turns = FairTurns()
    first, *_ = await all_taken(turns, ANN)
    gone, next_one = await waits(turns, ANN), await waits(turns, ANN)
    gone.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await gone
    first.end()
    await next_one

"""Give places for runs to one session after the other."""

import asyncio
from collections.abc import Sequence

from core.isolation.fair_turns import FairTurns
from core.model.identity import SessionKey


async def order_of(turns: FairTurns, sessions: Sequence[str]) -> list[str]:
    """Ask for a place for each of these, while the only one is taken; return who got it when."""
    got: list[str] = []
    unwanted = asyncio.Event()

    async def run(name: str) -> None:
        async with turns.turn(unwanted, SessionKey(name.partition("-")[0])) as begun:
            assert begun
            got.append(name)
            await asyncio.sleep(0)

    async with turns.turn(unwanted, SessionKey("first")):
        tasks = []
        for name in sessions:
            tasks.append(asyncio.create_task(run(name)))
            await asyncio.sleep(0)
    await asyncio.gather(*tasks)
    return got


async def test_a_session_with_many_holds_up_no_other() -> None:
    """Fair: a session that asks once waits for one of the many, not for all."""
    got = await order_of(FairTurns(1), ["a-1", "a-2", "a-3", "a-4", "b-1", "c-1", "b-2"])

    assert got == ["a-1", "b-1", "c-1", "a-2", "b-2", "a-3", "a-4"]


async def test_who_is_cancelled_takes_no_place() -> None:
    """By call or by the task's end; the place goes to the next."""
    turns, word, never = FairTurns(1), asyncio.Event(), asyncio.Event()
    entered = []

    async def wait(name: str, unwanted: asyncio.Event) -> bool:
        async with turns.turn(unwanted, SessionKey(name)) as begun:
            entered.append(name)
            return begun

    async with turns.turn(never, SessionKey("x")):
        told = asyncio.create_task(wait("told", word))
        ended = asyncio.create_task(wait("ended", never))
        last = asyncio.create_task(wait("last", never))
        await asyncio.sleep(0.01)
        word.set()
        ended.cancel()
        assert not await told
    assert await last
    async with turns.turn(never, SessionKey("x")) as begun:
        assert begun
    assert "ended" not in entered


async def test_as_many_as_there_are_places_go_on_at_a_time() -> None:
    """Never more, whatever comes and goes."""
    turns, never = FairTurns(3), asyncio.Event()
    now, most = 0, 0

    async def run(number: int) -> None:
        nonlocal now, most
        async with turns.turn(never, SessionKey(str(number % 7))):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1

    await asyncio.gather(*map(run, range(100)))

    assert most == 3

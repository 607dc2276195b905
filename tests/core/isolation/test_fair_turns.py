"""Give places for runs to one user after the other, and to one of its sessions after the other."""

import asyncio
from collections.abc import Sequence

from core.isolation.fair_turns import FairTurns
from core.model.identity import SessionKey


async def order_of(turns: FairTurns, sessions: Sequence[str]) -> list[str]:
    """Ask for a place for each of these, while the only one is taken; return who got it when.

    ``a-1`` is of session a of a user, ``bob:a-1`` of user bob.
    """
    got: list[str] = []
    unwanted = asyncio.Event()

    async def run(name: str) -> None:
        user, _, session = name.rpartition("-")[0].rpartition(":")
        async with turns.of(user).turn(unwanted, SessionKey(session)) as begun:
            assert begun
            got.append(name)
            await asyncio.sleep(0)

    async with turns.of("first").turn(unwanted, SessionKey("first")):
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


async def test_a_user_with_many_sessions_holds_up_no_other() -> None:
    """Sessions cost nothing: who begins one for each run must not come before other users."""
    many = [f"ann:{number}-1" for number in range(6)]
    got = await order_of(FairTurns(1), [*many, "bob:a-1", "cid:a-1", "bob:a-2", "ann:0-2"])

    assert got == [
        *("ann:0-1", "bob:a-1", "cid:a-1", "ann:1-1", "bob:a-2", "ann:2-1", "ann:3-1"),
        *("ann:4-1", "ann:5-1", "ann:0-2"),
    ]


async def test_a_user_gets_no_turn_for_a_place_that_it_cannot_use() -> None:
    """Others get it; whoever can use none still gets one turn, in which it is told why."""
    lost, never = {"ann": 2, "bob": 3}, asyncio.Event()
    turns, going, over = FairTurns(3, lambda user: lost.get(user, 0)), [], asyncio.Event()

    async def run(user: str) -> None:
        async with turns.of(user).turn(never, SessionKey(user)):
            going.append(user)
            await over.wait()

    tasks = [asyncio.create_task(run(user)) for user in ("ann", "ann", "bob", "bob", "cid", "cid")]
    await asyncio.sleep(0.01)
    assert going == ["ann", "bob", "cid"]
    lost.clear()
    over.set()
    await asyncio.gather(*tasks)
    assert sorted(going) == ["ann", "ann", "bob", "bob", "cid", "cid"]


async def test_waiting_a_thousand_times_leaves_nothing() -> None:
    """Neither who was cancelled nor who had a place, and no place is lost."""
    turns, never, unwanted = FairTurns(2), asyncio.Event(), asyncio.Event()
    unwanted.set()
    first, second = (turns.of(user).turn(never, SessionKey(user)) for user in "xy")
    async with first, second:
        for number in range(1_000):
            session = SessionKey(str(number))
            async with turns.of(str(number)).turn(unwanted, session) as begun:
                assert not begun
    assert await order_of(turns, ["a:a-1", "b:b-1"]) == ["a:a-1", "b:b-1"]
    assert (len(turns._waiting), len(turns._taken), turns._free) == (0, 0, 2)


async def test_who_is_cancelled_takes_no_place() -> None:
    """By call or by the task's end; the place goes to the next."""
    turns, word, never = FairTurns(1), asyncio.Event(), asyncio.Event()
    entered = []

    async def wait(name: str, unwanted: asyncio.Event) -> bool:
        async with turns.of("").turn(unwanted, SessionKey(name)) as begun:
            entered.append(name)
            return begun

    async with turns.of("").turn(never, SessionKey("x")):
        told = asyncio.create_task(wait("told", word))
        ended = asyncio.create_task(wait("ended", never))
        last = asyncio.create_task(wait("last", never))
        await asyncio.sleep(0.01)
        word.set()
        ended.cancel()
        assert not await told
    assert await last
    async with turns.of("").turn(never, SessionKey("x")) as begun:
        assert begun
    assert "ended" not in entered


async def test_as_many_as_there_are_places_go_on_at_a_time() -> None:
    """Never more, whatever comes and goes."""
    turns, never = FairTurns(3), asyncio.Event()
    now, most = 0, 0

    async def run(number: int) -> None:
        nonlocal now, most
        async with turns.of(str(number % 3)).turn(never, SessionKey(str(number % 7))):
            now += 1
            most = max(most, now)
            await asyncio.sleep(0.001)
            now -= 1

    await asyncio.gather(*map(run, range(100)))

    assert most == 3


async def test_who_gives_up_waiting_leaves_nothing() -> None:
    """The places may be taken for hours; a run that is cancelled meanwhile is forgotten at once."""
    turns, never, rounds = FairTurns(1), asyncio.Event(), 200

    async def run(unwanted: asyncio.Event) -> None:
        async with turns.of("ann").turn(unwanted, SessionKey("a")) as begun:
            assert not begun

    async with turns.of("first").turn(never, SessionKey("a")):
        for cancelled in (True, False):
            unwanted = asyncio.Event()
            tasks = [asyncio.create_task(run(unwanted)) for _ in range(rounds)]
            await asyncio.sleep(0)
            assert len(turns._waiting["ann"].by_session[SessionKey("a")]) == rounds
            if cancelled:
                for task in tasks:
                    task.cancel()
            unwanted.set()
            await asyncio.gather(*tasks, return_exceptions=True)
            assert "ann" not in turns._waiting
    assert turns._free == 1


async def test_a_place_that_is_of_use_again_is_given_at_once() -> None:
    """What could not be ended has ended: nobody has to release another place first."""
    lost, never, over = {"ann": 1}, asyncio.Event(), asyncio.Event()
    turns, going = FairTurns(2, lambda user: lost.get(user, 0)), []

    async def run() -> None:
        async with turns.of("ann").turn(never, SessionKey("a")):
            going.append("ann")
            await over.wait()

    tasks = [asyncio.create_task(run()) for _ in range(2)]
    await asyncio.sleep(0.01)
    assert going == ["ann"]
    lost.clear()
    turns.regained()
    await asyncio.sleep(0.01)
    assert going == ["ann", "ann"]
    over.set()
    await asyncio.gather(*tasks)

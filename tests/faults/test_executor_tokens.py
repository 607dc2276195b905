"""Show session tokens from a process of another user, on the real socket: no wrong one passes."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bot.executor_setup.archive import interpreter
from core.isolation import tokens, wire
from core.isolation.executor import Executor
from core.isolation.tokens import SessionTokens
from core.model.identity import SessionKey
from core.runner.supply import Order
from tests.support.executors import USER, World, as_user, executors
from tests.support.runs import new_run

DAY_S = 86400.0
LIAR = Path(__file__).with_name("lying_executor.py")


class Clock:
    """The tokens' clock: it stops, and its steps are exact, so that a rate is a number."""

    now = 0.0

    def __call__(self) -> float:
        """Return the time."""
        return self.now


@pytest.fixture
def clock() -> Clock:
    """Return a clock that only the test moves."""
    return Clock()


@pytest.fixture(scope="module")
def liar() -> Iterator[str]:
    """Yield the program's path, in a folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(prefix="sayso-liar-"))
    try:
        folder.chmod(0o755)
        yield str(shutil.copy(LIAR, folder))
    finally:
        shutil.rmtree(folder)


@asynccontextmanager
async def world_of(liar: str, clock: Clock) -> AsyncIterator[World]:
    """Yield a pool whose executors say what the test wants."""
    command = (*as_user(interpreter())[:-1], interpreter(), "-I", liar)
    made = SessionTokens(DAY_S, 1, clock)
    async with executors(liar, command=command, tokens=made) as world:
        yield world


async def begun(world: World, session: str = "agent:main:one") -> Executor:
    """Return an executor that serves a request of a session."""
    executor = await world.pool.take(USER)
    link = await world.pool.calls.begin(executor, Order(new_run(), SessionKey(session)))
    link.close()  # no supervisor is behind it
    executor.link = None
    return executor


def shown(token: object, method: str = wire.REPORT_COMPLETION) -> str:
    """Return the line with which an executor shows a token."""
    return wire.notification(method, {"session_token": token}).decode().strip()


async def heard(world: World, executor: Executor, *lines: str) -> list[object]:
    """Have an executor send lines; return what the journal says about each."""
    await executor.client.call("say", {"lines": list(lines)}, 20)
    await world.pool.calls._audit._queue.join()
    return [
        one["result"]
        for one in world.records.kept
        if one["executor"] == executor.id and one["method"] not in {wire.PING, wire.RUN}
    ]


async def test_its_own_token_is_accepted_once(liar: str, clock: Clock) -> None:
    """The control for everything that follows; and a replay is refused: the request is over."""
    async with world_of(liar, clock) as world:
        executor = await begun(world)
        first = await heard(world, executor, shown(executor.token))
        done = executor.completed.is_set()
        both = await heard(world, executor, shown(executor.token))

    assert first == ["ok"]
    assert done
    assert both == ["ok", tokens.UNKNOWN]


async def test_session_token_expires(liar: str, clock: Clock) -> None:
    """S2 "session token expires": a second earlier it is valid, which is the control."""
    async with world_of(liar, clock) as world:
        early, late = await begun(world), await begun(world)
        clock.now += DAY_S - 1
        control = await heard(world, early, shown(early.token))
        clock.now += 1
        refused = await heard(world, late, shown(late.token))
        completed = late.completed.is_set()

    assert control == ["ok"]
    assert refused == ["Token expired"]
    assert not completed


async def test_a_foreign_token_is_refused(liar: str, clock: Clock) -> None:
    """What one executor stole from another is worthless, and costs the other nothing."""
    async with world_of(liar, clock) as world:
        thief, victim = await begun(world), await begun(world, "agent:main:two")
        stolen = await heard(world, thief, shown(victim.token))
        untouched = not victim.completed.is_set() and not thief.completed.is_set()
        own = await heard(world, victim, shown(victim.token))

    assert stolen == [tokens.FOREIGN]
    assert untouched
    assert own == ["ok"]


@pytest.mark.parametrize("token", ["", "x" * 43, None, 7, ["a"], "\ud800", "🗝" * 9000])
async def test_no_guess_is_accepted(liar: str, clock: Clock, token: object) -> None:
    """Whatever a token may look like; the executor's own is valid afterwards."""
    async with world_of(liar, clock) as world:
        executor = await begun(world)
        found = await heard(world, executor, shown(token), shown(executor.token))

    assert found == [tokens.UNKNOWN, "ok"]


async def test_before_any_request_nothing_is_accepted(liar: str, clock: Clock) -> None:
    """A spare has no token; nor does a token that started nothing pass a call."""
    async with world_of(liar, clock) as world:
        executor, other = await world.pool.take(USER), await begun(world)
        found = await heard(world, executor, shown(""), shown(other.token))

    assert found == [tokens.UNKNOWN, tokens.FOREIGN]


async def test_of_a_hundred_at_once_one_wins(liar: str, clock: Clock) -> None:
    """Raced by five executors with one token: only its own executor wins, and only once."""
    async with world_of(liar, clock) as world:
        owner, *thieves = [await begun(world) for _ in range(5)]
        lines = [shown(owner.token)] * 20
        everyone = (owner, *thieves)
        found = await asyncio.gather(*(heard(world, one, *lines) for one in everyone))

    results = [result for one in found for result in one]
    assert len(results) == 100
    assert results.count("ok") == 1
    assert found[0].count("ok") == 1
    assert set(results) <= {"ok", tokens.UNKNOWN, tokens.FOREIGN}


async def test_calls_are_limited_by_rate(liar: str, clock: Clock) -> None:
    """An unknown method costs as much; after some time the next call passes."""
    async with world_of(liar, clock) as world:
        executor = await begun(world)
        lines = [shown(executor.token, "chatter")] * (int(tokens.BURST) + 50)
        found = await heard(world, executor, *lines)
        completed = executor.completed.is_set()
        clock.now += 1 / tokens.RATE
        after = await heard(world, executor, shown(executor.token), shown(executor.token))

    passed = ["Unknown method: chatter"] * int(tokens.BURST)
    assert found == passed + [tokens.TOO_MANY] * 50
    assert not completed
    assert after[len(found) :] == ["ok", tokens.UNKNOWN]


async def test_after_the_gateway_ended_it_nothing_is_accepted(liar: str, clock: Clock) -> None:
    """No token is known once its executor is gone, not even to another of the same session."""
    async with world_of(liar, clock) as world:
        over, other = await begun(world), await begun(world)
        token = over.token
        world.pool.drop(over)
        found = await heard(world, other, shown(token), shown(other.token))

    assert found == [tokens.UNKNOWN, "ok"]
    assert token not in repr(world.records.kept)

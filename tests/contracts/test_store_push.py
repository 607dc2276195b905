"""State what every engine must do with web push: one session, one answer, until it ends."""

import asyncio

import pytest
from sqlalchemy import select

from core.model.access import Scope
from core.model.identity import ApprovalId
from core.store import retention
from core.store.engine.clock import now_ms
from core.store.people import people, push, tokens
from core.store.people.push import Answerable, Draft
from core.store.people.tokens import Token, TokenDraft
from core.store.schema.people_tables import push_answers, push_subscriptions
from tests.support.stores import OpenStore

APPROVAL = ApprovalId("7k3f9q0123456789abcdefghjk")
HOUR, DAY = 3_600_000, 86_400_000
FAR = 10**15


async def _session(bench: OpenStore, name: str = "page-1", person: str = "ana") -> Token:
    await bench.store.write(people.add, person)
    scopes = frozenset({Scope.APPROVE, Scope.READ})
    draft = TokenDraft(name, scopes, None, person, "uid:0", 12 * HOUR, "Firefox on Linux")
    return (await bench.store.write(tokens.create, draft)).token


async def _subscribed(bench: OpenStore, session: Token, endpoint: str = "https://a/1") -> str:
    place = push.new_id()
    draft = Draft(place, session.id, str(session.person), endpoint, "sealed", "Firefox on Linux")
    assert await bench.store.write(push.subscribe, draft)
    return place


async def _drawn(bench: OpenStore, place: str, until_ms: int = FAR) -> str:
    return await bench.store.write(push.draw, Answerable(place, APPROVAL, "digest"), until_ms)


async def test_a_browser_lives_with_its_session(bench: OpenStore) -> None:
    """Signed out, revoked, expired, or of a person who is: it no longer exists."""
    for number, end in enumerate(("sign out", "revoke", "person", "time")):
        session = await _session(bench, f"page-{number}", f"p{number}")
        place = await _subscribed(bench, session, f"https://a/{number}")
        assert [one.id for one in await bench.store.read(push.live)] == [place]
        assert await bench.store.read(push.get, place) is not None
        if end == "sign out":
            await bench.store.write(tokens.sign_out, session.id)
        elif end == "revoke":
            await bench.store.write(tokens.revoke, session.id)
        elif end == "person":
            await bench.store.write(people.revoke, f"p{number}")
        else:
            await bench.advance(13 * HOUR)
        assert await bench.store.read(push.live) == ()
        assert await bench.store.read(push.get, place) is None
        assert await bench.store.read(push.of_person, f"p{number}") == ()


async def test_a_browser_has_one_subscription(bench: OpenStore) -> None:
    """The last; a person has ten browsers, and an ended one frees a slot."""
    first, second = await _session(bench), await _session(bench, "page-2")
    old = await _subscribed(bench, first)
    new = await _subscribed(bench, second)
    assert [one.id for one in await bench.store.read(push.live)] == [new]
    assert not await bench.store.write(push.remove, old)
    for number in range(push.MOST - 1):
        await _subscribed(bench, first, f"https://b/{number}")
    full = Draft(push.new_id(), first.id, "ana", "https://c", "sealed", "Firefox")
    assert not await bench.store.write(push.subscribe, full)
    await bench.store.write(tokens.sign_out, second.id)
    assert await bench.store.write(push.subscribe, full)
    assert not await bench.store.write(push.remove, full.id, "bo")
    assert await bench.store.write(push.remove, full.id, "ana")


async def test_an_answer_is_used_once_by_its_own_session(bench: OpenStore) -> None:
    """Others of the same browser and approval are used up with it."""
    session, other = await _session(bench), await _session(bench, "page-2")
    place = await _subscribed(bench, session)
    first, again = await _drawn(bench, place), await _drawn(bench, place)
    assert await bench.store.write(push.use, first, other.id) is None
    assert await bench.store.write(push.use, first[:-1], session.id) is None
    used = await asyncio.gather(
        *(bench.store.write(push.use, one, session.id) for one in (first, first, again, again))
    )
    assert [one for one in used if one] == [Answerable(place, APPROVAL, "digest")]


@pytest.mark.parametrize("end", ["time", "removed", "signed out"])
async def test_an_answer_ends_with_its_time_and_its_browser(bench: OpenStore, end: str) -> None:
    """The same answer before its end counts (the control)."""
    session = await _session(bench)
    place = await _subscribed(bench, session)
    now = await bench.store.read(now_ms)
    right = await _drawn(bench, place, now + HOUR)
    assert await bench.store.write(push.use, right, session.id) is not None
    late = await _drawn(bench, place, now + HOUR)
    if end == "time":
        await bench.advance(HOUR + 1)
    elif end == "removed":
        await bench.store.write(push.remove, place)
    else:
        await bench.store.write(tokens.sign_out, session.id)
    assert await bench.store.write(push.use, late, session.id) is None


async def test_the_key_that_is_kept_first_counts(bench: OpenStore) -> None:
    """Two that are made at one moment are one afterwards."""
    assert await bench.store.read(push.key) is None
    kept = await asyncio.gather(*(bench.store.write(push.keep_key, f"k{n}") for n in range(3)))
    assert len(set(kept)) == 1
    assert await bench.store.read(push.key) == kept[0]


async def test_what_ended_is_forgotten(bench: OpenStore) -> None:
    """With the sessions that it was of, and after its time."""
    place = await _subscribed(bench, await _session(bench))
    now = await bench.store.read(now_ms)
    await _drawn(bench, place, now + HOUR)
    await bench.advance(40 * DAY)
    await bench.store.write(retention.prune, now + 39 * DAY)
    for table in (push_subscriptions, push_answers):
        found = await bench.store.read(lambda conn, one: conn.execute(select(one)).all(), table)
        assert found == []

"""State what every engine must do with an allow-always that has a limit."""

import asyncio
from dataclasses import replace

import pytest
from sqlalchemy import Connection, select

from core.model.approval import HALF_HOUR, THIS_SESSION, ApprovalReply, GrantTerms
from core.model.identity import AgentId, ApprovalId, SessionKey
from core.store import approvals, prune
from core.store.approvals import grants
from core.store.approvals.grants import Grant, GrantSpent
from core.store.people import people
from core.store.schema.people_tables import grants as grant_rows
from tests.support.store_records import ALICE, ALWAYS, DENY, ONCE, SESSION, draft
from tests.support.stores import OpenStore

MAIN = AgentId("main")
OTHER = SessionKey("other")


async def give(bench: OpenStore, terms: GrantTerms) -> ApprovalId:
    """Ask, and let Alice allow it within limits."""
    asked = await bench.ask()
    await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ALWAYS, ALICE, None, "", terms)
    )
    return asked


async def active(bench: OpenStore, session: SessionKey = SESSION) -> list[Grant]:
    """Return what is granted now."""
    return list(await bench.store.read(grants.active, MAIN, session))


async def test_a_limited_always_is_a_grant_and_owes_the_file_nothing(bench: OpenStore) -> None:
    """The decision keeps the limits; the grant carries what the prompt promised."""
    asked = await give(bench, HALF_HOUR)
    approval = await bench.store.read(approvals.get, asked)
    (grant,) = await active(bench)

    assert approval is not None
    assert approval.resolution is not None
    assert HALF_HOUR == approval.resolution.terms
    assert () == await bench.store.read(approvals.unremembered, 10)
    assert (asked, MAIN, None, ALICE) == (grant.id, grant.agent, grant.session, grant.by)
    assert approval.evaluation.promise == grant.promise
    assert approval.resolution.at_ms + 1_800_000 == grant.expires_ms
    assert () == await bench.store.read(grants.active, AgentId("coder"), SESSION)


@pytest.mark.parametrize(
    ("reply", "terms"),
    [(ALWAYS, None), (ALWAYS, GrantTerms()), (ONCE, HALF_HOUR), (DENY, HALF_HOUR)],
)
async def test_nothing_else_is_a_grant(
    bench: OpenStore, reply: ApprovalReply, terms: GrantTerms | None
) -> None:
    """An unlimited always goes to the approvals file; limits mean nothing to once and deny."""
    asked = await bench.ask()
    ballot = approvals.Ballot(asked, reply, ALICE, None, "", terms)
    await bench.store.write(approvals.answer, ballot)

    assert [] == await active(bench)
    owed = await bench.store.read(approvals.unremembered, 10)
    assert (reply is ALWAYS) == bool(owed)


async def test_time_ends_a_grant(bench: OpenStore) -> None:
    """It lasts until its last ms on the database's clock."""
    asked = await give(bench, HALF_HOUR)
    await bench.advance(1_800_000)

    assert [] == await active(bench)
    assert () == await bench.store.read(grants.listed)
    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (asked,))


async def test_a_session_grant_stays_in_its_session(bench: OpenStore) -> None:
    """Another session of the same agent still asks."""
    await give(bench, THIS_SESSION)

    assert 1 == len(await active(bench))
    assert [] == await active(bench, OTHER)


async def test_uses_never_go_below_zero(bench: OpenStore) -> None:
    """Of ten that want three uses at the same moment, three get one."""
    asked = await give(bench, GrantTerms(uses=3))

    got = await asyncio.gather(*(bench.use_grant(asked) for _ in range(10)))

    assert 3 == sum(got)
    assert [] == await active(bench)


async def test_several_grants_are_used_together_or_not_at_all(bench: OpenStore) -> None:
    """A used-up one keeps the other's use."""
    spent, fresh = await give(bench, GrantTerms(uses=1)), await give(bench, GrantTerms(uses=2))
    await bench.store.write(grants.use, (spent,))

    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (fresh, spent))

    assert [(fresh, 2)] == [(grant.id, grant.uses_left) for grant in await active(bench)]


async def test_uncounted_grants_come_first(bench: OpenStore) -> None:
    """So that counted uses are kept for what nothing else covers."""
    counted, timed = await give(bench, GrantTerms(uses=1)), await give(bench, HALF_HOUR)

    assert [timed, counted] == [grant.id for grant in await active(bench)]


async def test_revoking_ends_a_grant_at_once(bench: OpenStore) -> None:
    """By code or id; a second time, or an unknown or shorter one, finds nothing."""
    asked = await give(bench, HALF_HOUR)

    assert () == await bench.store.write(grants.revoke, asked[:5])
    assert () == await bench.store.write(grants.revoke, "%%%%%%")
    ended = await bench.store.write(grants.revoke, asked[:6].upper())
    assert [asked] == [grant.id for grant in ended]
    assert () == await bench.store.write(grants.revoke, asked)
    assert [] == await active(bench)
    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (asked,))


async def test_a_revoked_givers_grants_let_nothing_run(bench: OpenStore) -> None:
    """They apply again when the person is restored."""
    await give(bench, HALF_HOUR)
    await bench.store.write(people.revoke, "telegram:42")
    assert [] == await active(bench)
    await bench.store.write(people.restore, "telegram:42")
    assert 1 == len(await active(bench))


async def test_pruning_forgets_ended_grants_and_votes_only(bench: OpenStore) -> None:
    """What is still in effect stays, however old its question."""
    ended, stays = await give(bench, HALF_HOUR), await give(bench, THIS_SESSION)
    question = replace(draft(), quorum=2)
    await bench.ask(question)
    await bench.store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    await bench.store.write(approvals.answer, approvals.Ballot(question.id, DENY, ALICE, None))
    await bench.advance(3_600_000)
    now = (await active(bench))[0].created_ms + 3_500_000

    assert await bench.store.write(prune, now)
    assert [stays] == [grant.id for grant in await active(bench)]
    assert await bench.store.read(approvals.get, question.id) is None
    assert () == await bench.store.write(grants.revoke, ended)


async def test_pruning_forgets_what_was_idle_for_long(bench: OpenStore) -> None:
    """Its end is its last use and the idle time after it; without an idle time it stays."""
    day = 86_400_000
    unused, used = await give(bench, THIS_SESSION), await give(bench, GrantTerms(uses=9))
    created = {one.id: one.created_ms for one in await bench.store.read(grants.listed)}
    await bench.advance(day)
    await bench.store.write(grants.use, (used,), None)

    await bench.store.write(prune, created[unused] + 3 * day, 500)
    assert {unused, used} == {one.id for one in await bench.store.read(grants.listed)}
    await bench.store.write(prune, created[unused] + 2 * day, 500, 2 * day)
    assert {unused, used} == {one.id for one in await bench.store.read(grants.listed)}
    await bench.store.write(prune, created[unused] + 2 * day + 1, 500, 2 * day)
    assert [used] == [one.id for one in await bench.store.read(grants.listed)]


async def test_pruning_keeps_a_used_up_grant_until_its_last_use_is_old(bench: OpenStore) -> None:
    """To the ms: what was used up at the border is kept."""
    asked = await give(bench, GrantTerms(uses=1))
    await bench.advance(60_000)
    await bench.store.write(grants.use, (asked,), None)
    used_ms = await bench.store.read(_used_ms, asked)
    assert used_ms is not None

    await bench.store.write(prune, used_ms)
    assert await bench.store.read(_used_ms, asked) == used_ms
    await bench.store.write(prune, used_ms + 1)
    assert await bench.store.read(_used_ms, asked) is None


def _used_ms(conn: Connection, asked: ApprovalId) -> int | None:
    """Return when a grant was last used, ``None`` if it is not kept."""
    row = conn.execute(select(grant_rows.c.used_ms).where(grant_rows.c.id == asked)).first()
    return None if row is None else row.used_ms


async def test_a_grant_that_is_not_used_counts_no_longer(bench: OpenStore) -> None:
    """Idle time runs from the last use, else from the grant, on the database's clock."""
    day = 86_400_000
    asked = await give(bench, GrantTerms(session_only=True))
    await bench.advance(day)
    assert [asked] == [one.id for one in await bench.store.read(grants.listed, 2 * day)]
    await bench.store.write(grants.use, (asked,), 2 * day)
    await bench.advance(day + day // 2)
    held = await bench.store.read(grants.active, MAIN, SESSION, 2 * day)
    assert [asked] == [one.id for one in held]
    await bench.advance(day)

    assert () == await bench.store.read(grants.active, MAIN, SESSION, 2 * day)
    assert () == await bench.store.read(grants.listed, 2 * day)
    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (asked,), 2 * day)
    assert [asked] == [one.id for one in await active(bench)]

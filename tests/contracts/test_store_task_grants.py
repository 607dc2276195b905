"""State what every engine must do with an allow-always for one task."""

import asyncio
from dataclasses import replace

import pytest

from core.errors import StoreError
from core.model.approval import HALF_HOUR, THIS_SESSION, THIS_TASK, GrantTerms
from core.model.identity import AgentId, ApprovalId, SessionKey, TaskId
from core.store import approvals, prune
from core.store.approvals import grants
from core.store.approvals.grants import TASK_IDLE_MS, Grant, GrantSpent
from tests.support.store_records import ALICE, ALWAYS, BOB, SESSION, draft
from tests.support.stores import OpenStore

MAIN, CODER = AgentId("main"), AgentId("coder")
FIX, OTHER = TaskId("fix"), TaskId("other")


async def give(
    bench: OpenStore, terms: GrantTerms, task: TaskId | None = FIX, agent: AgentId = MAIN
) -> ApprovalId:
    """Ask as an agent that works on a task, and let Alice allow it within limits."""
    question = draft()
    asked = await bench.ask(replace(question, plan=replace(question.plan, task=task, agent=agent)))
    await bench.store.write(
        approvals.answer, approvals.Ballot(asked, ALWAYS, ALICE, None, "", terms)
    )
    return asked


async def active(
    bench: OpenStore,
    task: TaskId | None = FIX,
    agent: AgentId = MAIN,
    session: SessionKey = SESSION,
) -> list[ApprovalId]:
    """Return what may lift a question of an agent that works on a task."""
    found = await bench.store.read(grants.active, agent, session, None, task)
    return [grant.id for grant in found]


async def listed(bench: OpenStore) -> dict[ApprovalId, Grant]:
    """Return what is granted to anyone."""
    return {grant.id: grant for grant in await bench.store.read(grants.listed)}


async def test_a_grant_of_a_task_holds_for_its_agent_and_task(bench: OpenStore) -> None:
    """In every session; for another task, for none, and for another agent it does not exist."""
    asked = await give(bench, THIS_TASK)

    assert [asked] == await active(bench)
    assert [asked] == await active(bench, session=SessionKey("elsewhere"))
    assert [] == await active(bench, OTHER)
    assert [] == await active(bench, TaskId("FIX"))
    assert [] == await active(bench, None)
    assert [] == await active(bench, agent=CODER)
    assert (FIX, None) == ((await listed(bench))[asked].task, (await listed(bench))[asked].session)


async def test_another_limit_binds_to_no_task(bench: OpenStore) -> None:
    """The name of a task narrows nothing unless the answer says so."""
    asked = await give(bench, HALF_HOUR)

    assert [asked] == await active(bench, OTHER)
    assert [asked] == await active(bench, None)
    assert (await listed(bench))[asked].task is None


async def test_limits_of_session_and_task_add_up(bench: OpenStore) -> None:
    """If people limited it in both ways, both must be met."""
    asked = await give(bench, GrantTerms(uses=1, session_only=True, task_only=True))

    assert [asked] == await active(bench)
    assert [] == await active(bench, OTHER)
    assert [] == await active(bench, session=SessionKey("elsewhere"))
    await bench.store.write(grants.use, (asked,))
    assert [] == await active(bench)


async def test_the_votes_of_several_people_add_up(bench: OpenStore) -> None:
    """One says half an hour, one says this task: it is half an hour of this task."""
    question = draft()
    asked = await bench.ask(replace(question, plan=replace(question.plan, task=FIX), quorum=2))
    for actor, terms in ((ALICE, HALF_HOUR), (BOB, THIS_TASK)):
        await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ALWAYS, actor, None, "", terms)
        )

    held = (await listed(bench))[asked]
    assert (FIX, held.created_ms + 1_800_000) == (held.task, held.expires_ms)
    assert [] == await active(bench, OTHER)


async def test_without_a_task_no_grant_of_one_is_given(bench: OpenStore) -> None:
    """Nothing is decided: a grant without its task would apply to every one."""
    asked = await bench.ask()
    with pytest.raises(StoreError, match="names no task"):
        await bench.store.write(
            approvals.answer, approvals.Ballot(asked, ALWAYS, ALICE, None, "", THIS_TASK)
        )

    approval = await bench.store.read(approvals.get, asked)
    assert approval is not None
    assert approval.resolution is None
    assert {} == await listed(bench)


async def test_the_end_of_a_task_ends_its_grants_only(bench: OpenStore) -> None:
    """Of one agent if it is named, else of all; a second time there is nothing to cancel."""
    mine, hers = await give(bench, THIS_TASK), await give(bench, THIS_TASK, agent=CODER)
    timed = await give(bench, GrantTerms(for_ms=60_000, task_only=True))
    stays = {await give(bench, THIS_TASK, OTHER), await give(bench, THIS_SESSION)}

    assert () == await bench.store.write(grants.end_task, TaskId("FIX"))
    ended = await bench.store.write(grants.end_task, FIX, MAIN)
    assert {mine, timed} == {grant.id for grant in ended}
    assert [hers] == [one.id for one in await bench.store.write(grants.end_task, FIX)]
    assert () == await bench.store.write(grants.end_task, FIX)
    assert stays == set(await listed(bench))
    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (mine,))


async def test_a_task_that_ends_while_it_is_used(bench: OpenStore) -> None:
    """Each use comes before the end and is counted, or after it and is not; never both."""
    asked = await give(bench, GrantTerms(uses=100, task_only=True))

    async def end() -> Grant:
        (ended,) = await bench.store.write(grants.end_task, FIX)
        return ended

    before = [asyncio.create_task(bench.use_grant(asked)) for _ in range(6)]
    ending = asyncio.create_task(end())
    used = await asyncio.gather(*before, *(bench.use_grant(asked) for _ in range(6)))
    ended = await ending

    assert ended.uses_left is not None
    assert 100 - ended.uses_left == sum(used)
    assert not await bench.use_grant(asked)


async def test_a_task_that_nobody_ends_ends_by_itself(bench: OpenStore) -> None:
    """After 24 hours without use; each use restarts them, and no other grant has them."""
    unused = await give(bench, THIS_TASK)
    used = await give(bench, GrantTerms(uses=9, task_only=True))
    session = await give(bench, THIS_SESSION)
    await bench.advance(TASK_IDLE_MS // 2)
    assert {unused, used, session} == set(await active(bench))
    await bench.store.write(grants.use, (used,))
    await bench.advance(TASK_IDLE_MS // 2 + 60_000)

    assert {used, session} == set(await active(bench))
    assert {used, session} == set(await listed(bench))
    with pytest.raises(GrantSpent):
        await bench.store.write(grants.use, (unused,))
    await bench.advance(TASK_IDLE_MS)
    assert {session} == set(await active(bench))


async def test_a_time_of_its_own_is_the_bound(bench: OpenStore) -> None:
    """A person who gave a task two days meant two days, used or not."""
    asked = await give(bench, GrantTerms(for_ms=2 * TASK_IDLE_MS, task_only=True))
    await bench.advance(TASK_IDLE_MS + 60_000)
    assert [asked] == await active(bench)
    await bench.advance(TASK_IDLE_MS)

    assert [] == await active(bench)


async def test_pruning_forgets_tasks_that_ended(bench: OpenStore) -> None:
    """Those still in effect stay, and so do those without a task."""
    unused, session = await give(bench, THIS_TASK), await give(bench, THIS_SESSION)
    created = (await listed(bench))[unused].created_ms

    await bench.store.write(prune, created + TASK_IDLE_MS)
    assert {unused, session} == set(await listed(bench))
    await bench.store.write(prune, created + TASK_IDLE_MS + 1)
    assert {session} == set(await listed(bench))

"""State what every engine must do when too much waits for people: one gets the last slot."""

import asyncio
from dataclasses import replace

import pytest

from core.model.identity import AgentId, ApprovalId
from core.model.pending_limits import Crowded, PendingBound, PendingLimits
from core.model.stdio import Stdio
from core.store import approvals
from core.store.schema.records import ApprovalDraft
from core.store.views import status
from tests.support.store_records import ALICE, DENY, HALF_HOUR, MINUTE, draft
from tests.support.stores import OpenStore

LIMITS = PendingLimits(per_agent=2, total=3, input_bytes_per_agent=100, input_bytes=150)


def question(
    agent: str = "main", stdin: bytes | None = None, key: str | None = None
) -> ApprovalDraft:
    """Return a question of an agent that equals no other."""
    made = draft(key=key, timeout_ms=HALF_HOUR)
    return replace(made, plan=replace(made.plan, agent=AgentId(agent), stdio=Stdio(stdin)))


async def _asked(bench: OpenStore, one: ApprovalDraft, limits: PendingLimits = LIMITS) -> object:
    """Return the id of the question for a draft, or why there is none."""
    try:
        return (await bench.store.write(approvals.create, one, limits)).approval.id
    except approvals.TooMany as many:
        return many.crowded


async def test_each_agent_has_so_many_places_and_all_have_some(bench: OpenStore) -> None:
    """An agent at its limit blocks no other one; there is an overall limit as well."""
    first, second, third = question(), question(), question("other")
    assert [await _asked(bench, one) for one in (first, second)] == [first.id, second.id]
    assert await _asked(bench, question()) == Crowded(PendingBound.PER_AGENT, 2, 2, 1)
    assert await _asked(bench, third) == third.id
    assert await _asked(bench, question("other")) == Crowded(PendingBound.TOTAL, 3, 3, 1)
    assert await bench.store.read(status.pending) == 3


async def test_standard_input_has_its_own_bounds(bench: OpenStore) -> None:
    """To the byte; a draft of none needs no room."""
    roomy = replace(LIMITS, per_agent=9, total=9)
    whole, other = question(stdin=b"x" * 100), question("other", b"x" * 50)
    assert await _asked(bench, whole, roomy) == whole.id
    own = Crowded(PendingBound.INPUT_PER_AGENT, 100, 100, 1)
    assert await _asked(bench, question(stdin=b"x"), roomy) == own
    assert await _asked(bench, other, roomy) == other.id
    every = Crowded(PendingBound.INPUT, 150, 150, 1)
    assert await _asked(bench, question("third", b"x"), roomy) == every
    plain = question()
    assert await _asked(bench, plain, roomy) == plain.id


async def test_without_limits_nothing_is_counted(bench: OpenStore) -> None:
    """The negative control: the same questions are accepted without bounds."""
    for _ in range(4):
        await bench.store.write(approvals.create, question(stdin=b"x" * 100))
    assert await bench.store.read(status.pending) == 4


@pytest.mark.parametrize("end", ["answered", "withdrawn", "expired"])
async def test_an_end_gives_its_place_and_its_bytes_back(bench: OpenStore, end: str) -> None:
    """However a question ends, the next one is asked."""
    one = replace(LIMITS, per_agent=1)
    first, then = question(stdin=b"x" * 100), question(stdin=b"y" * 100)
    assert await _asked(bench, first, one) == first.id
    assert isinstance(await _asked(bench, then, one), Crowded)
    match end:
        case "answered":
            await bench.store.write(approvals.answer, approvals.Ballot(first.id, DENY, ALICE, None))
        case "withdrawn":
            await bench.store.write(approvals.cancel, first.id, "")
        case _:
            await bench.advance(HALF_HOUR + MINUTE)
            await bench.store.write(approvals.expire_due, 10)
    assert await _asked(bench, then, one) == then.id


async def test_a_restart_forgets_nothing_that_waits(bench: OpenStore) -> None:
    """Slots are counted from what is stored."""
    await _asked(bench, question(stdin=b"x" * 100))
    await bench.again()
    full = replace(LIMITS, per_agent=1)
    assert await _asked(bench, question(), full) == Crowded(PendingBound.PER_AGENT, 1, 1, 1)
    found = await _asked(bench, question(stdin=b"x"))
    assert found == Crowded(PendingBound.INPUT_PER_AGENT, 100, 100, 1)


async def test_a_refusal_leaves_nothing_and_its_key_free(bench: OpenStore) -> None:
    """A known request keeps its answer when everything is full; a refused one may come again."""
    one = replace(LIMITS, per_agent=1)
    known, refused = question(key="known"), question(key="again")
    await _asked(bench, known, one)
    assert isinstance(await _asked(bench, refused, one), Crowded)
    assert await _asked(bench, question(key="known"), one) == known.id
    assert await bench.store.read(approvals.get, refused.id) is None
    await bench.store.write(approvals.cancel, known.id, "")
    later = question(key="again")
    assert await _asked(bench, later, one) == later.id


async def test_identical_questions_take_places_too(bench: OpenStore) -> None:
    """What waits behind another is held as well, although no one is shown it twice."""
    same = question()
    await _asked(bench, same)
    for _ in range(2):
        found = await _asked(bench, replace(same, id=question().id))
    assert found == Crowded(PendingBound.PER_AGENT, 2, 2, 1)


async def test_of_many_at_the_same_moment_only_so_many_get_in(bench: OpenStore) -> None:
    """Twenty at once for two slots, some with a key: two win, all others are told the bound."""
    drafts = [question(key=f"k{number}" if number % 3 else None) for number in range(20)]
    told = await asyncio.gather(*(_asked(bench, one) for one in drafts))
    won = [one for one in told if isinstance(one, str)]
    assert set(won) < {ApprovalId(one.id) for one in drafts}
    assert (len(won), await bench.store.read(status.pending)) == (2, 2)
    assert {one for one in told if isinstance(one, Crowded)} == {
        Crowded(PendingBound.PER_AGENT, 2, 2, 1)
    }

"""Count prompts as the rows do, by day and agent, on both engines."""

from core.model.approval import ApprovalReply
from core.store import approvals
from core.store.engine.clock import now_ms
from core.store.views import insight as module
from core.store.views.insight import insight
from tests.support.store_records import ALICE, ONCE, draft
from tests.support.stores import OpenStore

DAY_MS = 86_400_000


async def test_prompts_are_counted_by_day_and_outcome(bench: OpenStore) -> None:
    """What waits, what was allowed, denied and withdrawn; the median of what people answered."""
    ids = [await bench.ask(draft(digest=f"{number:02d}" * 32)) for number in range(6)]
    for number, one in enumerate(ids[:3]):
        await bench.store.write(
            approvals.answer, approvals.Ballot(one, ONCE, ALICE, f"in:{number}")
        )
    await bench.store.write(
        approvals.answer, approvals.Ballot(ids[3], ApprovalReply.DENY, ALICE, "in:9")
    )
    await bench.store.write(approvals.cancel, ids[4], "")
    now = await bench.store.read(now_ms)
    found = await bench.store.read(insight, 30, 0)

    (day,) = found.days
    assert day.day == now // DAY_MS
    counted = (day.asked, day.allowed, day.denied, day.expired, day.cancelled, day.pending)
    assert counted == (6, 3, 1, 0, 1, 1)
    assert found.answers == 4
    assert day.median_ms == found.median_ms is not None
    (agent,) = found.agents
    assert (agent.asked, agent.allowed, agent.denied) == (6, 3, 1)
    assert not found.cut


async def test_a_day_begins_where_people_are(bench: OpenStore) -> None:
    """An offset moves the boundary; the control without one is the day before."""
    await bench.ask()
    now = await bench.store.read(now_ms)
    ahead = DAY_MS - now % DAY_MS + 60_000
    (here,) = (await bench.store.read(insight, 30, 0)).days
    (there,) = (await bench.store.read(insight, 30, ahead)).days
    assert there.day == here.day + 1


async def test_no_more_than_a_bound_is_counted(bench: OpenStore, monkeypatch: object) -> None:
    """The newest ones; it says that older ones are left out."""
    for number in range(5):
        await bench.ask(draft(digest=f"{number:02d}" * 32))
    monkeypatch.setattr(module, "MOST_COUNTED", 2)  # type: ignore[attr-defined]
    found = await bench.store.read(insight, 30, 0)
    assert found.cut
    assert 2 <= sum(one.asked for one in found.days) <= 5

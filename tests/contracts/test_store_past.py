"""State what every engine must return of an agent's last commands."""

from core.model.identity import AgentId, SessionKey
from core.store import approvals
from core.store.runs import runs
from core.store.views.past_commands import recent
from tests.support.store_records import ALICE, DENY, ONCE, draft, run_draft
from tests.support.stores import OpenStore

MAIN = AgentId("main")


async def test_the_last_commands_come_newest_first(bench: OpenStore) -> None:
    """Asked ones with plan and denial, the others with their text; one may be left out."""
    await bench.ask(draft(text="git one"))
    await bench.advance(1_000)
    denied = await bench.ask(draft(text="git two"))
    await bench.store.write(approvals.answer, approvals.Ballot(denied, DENY, ALICE, None, "", None))
    await bench.advance(1_000)
    await bench.store.write(runs.begin, run_draft())
    await bench.advance(1_000)
    allowed = await bench.ask(draft(text="git four", session="other"))
    await bench.store.write(
        approvals.answer, approvals.Ballot(allowed, ONCE, ALICE, None, "", None)
    )

    found = await bench.store.read(recent, MAIN, 500, None)

    assert ["git four", "ls -l", "git two", "git one"] == [one.text for one in found]
    assert [True, False, True, True] == [one.plan is not None for one in found]
    assert [False, False, True, False] == [one.denied for one in found]
    assert SessionKey("other") == found[0].session
    rest = await bench.store.read(recent, MAIN, 500, allowed)
    assert found[1:] == rest
    assert found[:2] == await bench.store.read(recent, MAIN, 2, None)
    assert () == await bench.store.read(recent, AgentId("coder"), 500, None)

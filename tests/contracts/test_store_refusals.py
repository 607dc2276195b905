"""State what every engine must do with a request that was refused as it was."""

from core.model.decision import DenialReason
from core.model.identity import AgentId
from core.model.result import Denied
from core.store import approvals
from core.store.engine.timed import TimedStore
from core.store.runs import outcomes
from core.store.runs.refusals import RefusedRequest, record_refused
from core.store.schema.states import RowState
from core.store.sessions import events
from core.store.views import owners, status
from tests.support.store_records import SESSION, new_id
from tests.support.stores import OpenStore


def refused() -> RefusedRequest:
    """Return a request that names a missing folder."""
    return RefusedRequest(
        id=new_id(),
        agent=AgentId("main"),
        session=SESSION,
        place="gateway",
        text="ls \udcff\0",
        reason=DenialReason.BAD_CWD,
        why="there is no folder /gone",
    )


async def test_a_refusal_is_told_and_kept_under_its_id(bench: OpenStore) -> None:
    """Its session is told, its id is known with the reason, the history has it."""
    one = refused()
    await bench.store.write(record_refused, one)

    (told,) = await bench.store.read(events.drain, SESSION)
    (row,) = await bench.store.read(approvals.history, 10)
    end = await bench.store.read(outcomes.outcome, one.id)

    assert told.text == (
        f"Exec denied (node=gateway, id={one.id}, bad_cwd: there is no folder /gone)"
    )
    assert end == Denied(one.id, DenialReason.BAD_CWD, "there is no folder /gone")
    assert (row.id, row.state, row.reason) == (one.id, RowState.DENIED, DenialReason.BAD_CWD)
    assert await bench.store.read(owners.agent_of, one.id) == AgentId("main")
    assert {f"run:{one.id}", f"session:{SESSION}"} <= set(bench.notes)


async def test_what_waits_is_counted_and_writes_are_timed(bench: OpenStore) -> None:
    """The gauges of /metrics: questions that wait, and the seconds of each write."""
    took: list[float] = []
    timed = TimedStore(bench.store, took.append)
    await bench.ask()
    await bench.ask()

    assert await timed.read(status.pending) == 2
    await timed.write(record_refused, refused())
    assert len(took) == 1
    assert 0 < took[0] < 10

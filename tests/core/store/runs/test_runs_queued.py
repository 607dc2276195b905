"""Return what may start, beside runs whose plans another version wrote."""

from pathlib import Path

import pytest
from sqlalchemy import Connection, update

from core.model.identity import ApprovalId
from core.store import approvals, open_store
from core.store.runs import runs
from core.store.schema.tables import questions
from tests.support.store_records import ALICE, ONCE, draft

MOST = 3


def _spoil(conn: Connection, ids: list[ApprovalId]) -> None:
    conn.execute(update(questions).where(questions.c.id.in_(ids)).values(plan="{}"))


async def test_plans_that_cannot_be_read_take_nobodys_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """However many of them wait in front; they are named in one line."""
    store = await open_store(f"sqlite:///{tmp_path / 'state.db'}")
    for _ in range(3 * MOST + 2):
        question = draft()
        await store.write(approvals.create, question)
        await store.write(approvals.answer, approvals.Ballot(question.id, ONCE, ALICE, None))
    ids = [run_id for run_id, _ in await store.read(runs.queued, 4 * MOST)]
    await store.write(_spoil, ids[: 2 * MOST + 1])
    readable = ids[2 * MOST + 1 :]

    first = await store.read(runs.queued, MOST)
    rest = await store.read(runs.queued, MOST, readable[:1])
    await store.close()

    assert [run_id for run_id, _ in first] == readable[:MOST]
    # Those that run already are among the first of their agent, as without the others.
    assert [run_id for run_id, _ in rest] == readable[1:MOST]
    assert len(caplog.records) == 2

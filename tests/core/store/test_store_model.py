"""Compare the store with a model of it, which must catch seeded bugs."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.core.store.directed_machine import DirectedMachine
from tests.core.store.mutants import GENUINE, Mutation, StoreCode, mutated
from tests.core.store.synchronous import Direct, DirectPostgres, DirectSqlite
from tests.support.postgres import PostgresServer
from tests.support.stores import folder_in_memory

_RELAXED = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]
MUTATIONS = (
    Mutation(
        "no guard",
        "approvals/decide.py",
        'approvals.c.id == bindparam("p_id"), IS_PENDING)',
        'approvals.c.id == bindparam("p_id"))',
    ),
    Mutation(
        "an answer at the deadline wins",
        "approvals/decide.py",
        "approvals.c.deadline_ms > func.sayso_now()",
        "approvals.c.deadline_ms >= func.sayso_now()",
    ),
    Mutation(
        "the sweep forgets the deadline itself",
        "approvals/deadlines.py",
        "approvals.c.deadline_ms <= _NOW",
        "approvals.c.deadline_ms < _NOW",
    ),
    Mutation(
        "the sweep takes what is not due",
        "approvals/deadlines.py",
        "approvals.c.deadline_ms <= _NOW",
        "approvals.c.deadline_ms <= _NOW + 10000",
    ),
    Mutation(
        "time goes back",
        "engine/clock.py",
        "max(self._high, self._steady() + self._ahead)",
        "self._steady() + self._ahead",
    ),
    Mutation(
        "decisions leave shown prompts as they are",
        "approvals/conclude.py",
        "edits = messages.settle(conn, ids, now, channels)",
        "edits = ()",
    ),
    Mutation(
        "a prompt sent after the decision is not edited",
        "outbox/acknowledge.py",
        'messages.settle(conn, [item["approval_id"]], now)',
        "pass",
    ),
    Mutation(
        "a run may start again",
        "runs/runs.py",
        "IS_OPEN_RUN, runs.c.state == RowState.QUEUED.value)\n    .values(",
        "IS_OPEN_RUN)\n    .values(",
    ),
    Mutation(
        "an acknowledgement goes back",
        "sessions/events.py",
        'sessions.c.acked_seq < bindparam("p_seq")',
        'sessions.c.acked_seq != bindparam("p_seq")',
    ),
    Mutation(
        "events beyond the last are acknowledged",
        "sessions/events.py",
        '(sessions.c.last_seq < bindparam("p_seq"), sessions.c.last_seq)',
        "(sessions.c.last_seq < 0, sessions.c.last_seq)",
    ),
    Mutation(
        "a repeated message is told it lost",
        "approvals/redelivery.py",
        '"p_won": recorded.value',
        '"p_won": 0',
    ),
    Mutation(
        "a second answer is told that it won",
        "approvals/decide.py",
        'won = row is not None and row["state"] == wanted.value',
        'won = row is None or row["state"] == wanted.value',
    ),
    Mutation(
        "reminders never stop",
        "approvals/deadlines.py",
        "return next(left, None)",
        "return next(left, now)",
    ),
    Mutation(
        "reminders come before anybody saw the question",
        "outbox/delivery_clock.py",
        "return Clock(now + timeout_ms, None, None)",
        "return Clock(now + timeout_ms, None, now + reminders[0] if reminders else None)",
    ),
    Mutation(
        "every copy starts the clock anew",
        "outbox/delivery_clock.py",
        "approvals.c.id == _ID, IS_PENDING, approvals.c.delivered_ms.is_(None))",
        "approvals.c.id == _ID, IS_PENDING)",
    ),
    Mutation(
        "a copy brings back a question whose time was over",
        "outbox/delivery_clock.py",
        ".where(_IS_UNSHOWN, approvals.c.deadline_ms > _NOW)",
        ".where(_IS_UNSHOWN)",
    ),
    Mutation(
        "those who wait do not hear that the prompt arrived",
        "outbox/delivery_clock.py",
        'conn.execute(_START_FOLLOWERS, moved | {"p_deadline": now + found.timeout_ms})',
        "pass",
    ),
    Mutation(
        "nobody answered and nobody was reached are the same",
        "approvals/conclude.py",
        "approvals.c.delivered_ms.is_(None), literal(DenialReason.UNDELIVERED.value)",
        "approvals.c.delivered_ms.is_(None), literal(DenialReason.APPROVAL_TIMEOUT.value)",
    ),
    Mutation(
        "an allow-once is shared",
        "approvals/conclude.py",
        "return ending.reply is ApprovalReply.ALLOW_ALWAYS and not counted",
        "return True",
    ),
    Mutation(
        "a denial is not shared",
        "approvals/conclude.py",
        "case ApprovalState.DENIED | ApprovalState.EXPIRED:",
        "case ApprovalState.EXPIRED:",
    ),
    Mutation(
        "the youngest of those who wait is asked next",
        "approvals/duplicates.py",
        'rows[0]["id"], [row["id"] for row in rows[1:]]',
        'rows[-1]["id"], [row["id"] for row in rows[:-1]]',
    ),
    Mutation(
        "a question waits behind one that waits itself",
        "approvals/duplicates.py",
        "approvals.c.behind.is_(None),",
        "",
    ),
    Mutation(
        "an allow-always is forgotten",
        "approvals/conclude.py",
        "int(for_good and ending.state is ApprovalState.ALLOWED and not ending.shared)",
        "0",
    ),
)


def _check(code: StoreCode, make: Callable[[], Direct], *, exact: bool, examples: int) -> None:
    machine = type("Machine", (DirectedMachine,), {"code": code, "make": make, "exact": exact})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=35,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=_RELAXED,
            phases=(Phase.generate,),
        ),
    )


@pytest.fixture
def memory_folder() -> Iterator[Path]:
    """Yield a folder in memory: thousands of commits need no real disk."""
    with folder_in_memory() as folder:
        yield folder


def _on_sqlite(code: StoreCode, folder: Path) -> Callable[[], Direct]:
    return DirectSqlite(code, folder).fresh


def test_sqlite_agrees_with_the_model(memory_folder: Path) -> None:
    """Any order of questions, answers, sends, crashes and clock steps."""
    _check(GENUINE, _on_sqlite(GENUINE, memory_folder), exact=True, examples=40)


def test_postgres_agrees_with_the_model(postgres_server: PostgresServer) -> None:
    """The same machine on the other engine, whose clock runs."""
    _check(GENUINE, lambda: DirectPostgres(GENUINE, postgres_server), exact=False, examples=5)


@pytest.mark.deep
@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_the_model_catches(mutation: Mutation, tmp_path: Path, memory_folder: Path) -> None:
    """A store with one seeded bug does not pass for the store."""
    code = mutated(mutation, tmp_path)
    with pytest.raises(Exception, match=r"(?s).*") as caught:
        _check(code, _on_sqlite(code, memory_folder), exact=True, examples=500)
    assert not isinstance(caught.value, pytest.fail.Exception)

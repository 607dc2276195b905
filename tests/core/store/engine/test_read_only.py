"""Read a store next to its gateway, on both engines, without ever writing."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

import pytest
import time_machine
from sqlalchemy import Connection, delete, func, select, update

from core.errors import StoreError
from core.store import approvals as ops
from core.store import open_store
from core.store.engine.clock import now_ms
from core.store.engine.read_only import open_and_read
from core.store.schema.tables import approvals, schema_version
from core.store.views.past_commands import past
from tests.support.store_records import ALICE, DENY, draft
from tests.support.stores import OpenStore

P = ParamSpec("P")
T = TypeVar("T")


def told(conn: Connection) -> int:
    """Return the store's time as statements see it."""
    return int(conn.execute(select(func.sayso_now())).scalar_one())


async def aside(
    bench: OpenStore, op: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Read in a thread, as a command in another process would."""
    return await asyncio.to_thread(lambda: open_and_read(bench.url, op, *args, **kwargs))


async def test_what_was_asked_is_read_while_the_store_is_open(bench: OpenStore) -> None:
    """Plan, verdict, reply and the time that the answer took."""
    question = draft(local=True, targets=())
    await bench.ask(question)
    await bench.advance(5_000)
    await bench.store.write(ops.answer, ops.Ballot(question.id, DENY, ALICE, None))
    (one,) = await aside(bench, past, 0, 10)

    assert (question.plan, question.evaluation) == (one.plan, one.evaluation)
    assert (True, DENY) == (one.asked, one.reply)
    assert one.answer_ms is not None
    assert 5_000 <= one.answer_ms < 6_000
    assert () == await aside(bench, past, one.at_ms + 1, 10)


async def test_a_retry_that_waits_behind_its_question_is_joined(bench: OpenStore) -> None:
    """It shares the prompt, so it costs no second one."""
    await bench.ask(draft(digest="a" * 64))
    await bench.ask(draft(digest="a" * 64))
    found = await aside(bench, past, 0, 10)

    assert [False, True] == sorted(one.joined for one in found)


async def test_nothing_can_be_written(bench: OpenStore) -> None:
    """The database itself refuses, on either engine."""
    await bench.ask()

    with pytest.raises(StoreError, match=r"cannot be read: .*(readonly|read-only)"):
        await aside(bench, forget)
    assert 1 == len(await aside(bench, past, 0, 10))


async def test_it_has_the_gateways_time(tmp_path: Path) -> None:
    """The wall clock was set an hour ahead: what counts for the gateway counts here."""
    url = f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url)
    began = await store.write(now_ms)
    with time_machine.travel(time.time() + 3_600):
        seen = await asyncio.to_thread(open_and_read, url, told)
    await store.close()

    assert abs(seen - began) < 60_000


async def test_another_schema_is_not_guessed(bench: OpenStore) -> None:
    """An older or newer store is named with both versions."""
    await bench.store.write(age)

    with pytest.raises(StoreError, match="has schema 0000, this command knows"):
        await aside(bench, past, 0, 10)


async def test_a_newer_store_is_not_to_be_migrated(bench: OpenStore) -> None:
    """Starting this gateway would not help: it refuses the store in the same words."""
    await bench.store.write(renew)

    with pytest.raises(StoreError, match=r"has schema 9999.*Start the newer Sayso, or restore"):
        await aside(bench, past, 0, 10)


async def test_what_is_no_store_is_said(tmp_path: Path) -> None:
    """No file, another file, an unknown engine, a missing server."""
    other = tmp_path / "notes.db"
    other.write_text("no database at all, " * 100, encoding="utf-8")
    for url, words in (
        (f"sqlite:///{tmp_path}/none.db", "There is no store at"),
        (f"sqlite:///{other}", "cannot be read"),
        ("mysql://x", "must begin with"),
        ("postgresql://nobody:secret@127.0.0.1:1/x", "cannot be read"),
    ):
        with pytest.raises(StoreError, match=words) as raised:
            await asyncio.to_thread(open_and_read, url, past, 0, 10)
        assert "secret" not in str(raised.value)
        assert 1 == len(str(raised.value).splitlines())
        assert "sqlalche.me" not in str(raised.value)
    assert ["notes.db"] == [path.name for path in tmp_path.iterdir()]


async def test_a_plan_in_another_shape_is_left_out(tmp_path: Path) -> None:
    """The command stays in the history; it has no plan to judge."""
    url = f"sqlite:///{tmp_path}/state.db"
    store = await open_store(url)
    question = draft(local=True, targets=())
    await store.write(ops.create, question)
    await store.write(spoil)
    await store.close()
    (one,) = await asyncio.to_thread(open_and_read, url, past, 0, 10)

    assert (question.plan.text, None, None) == (one.text, one.plan, one.evaluation)


def forget(conn: Connection) -> None:
    """Try to delete a question."""
    conn.execute(delete(approvals))


def age(conn: Connection) -> None:
    """Make the store an older one."""
    conn.execute(update(schema_version).values(version_num="0000"))


def renew(conn: Connection) -> None:
    """Make the store a newer one."""
    conn.execute(update(schema_version).values(version_num="9999"))


def spoil(conn: Connection) -> None:
    """Put a plan into the store that another version wrote."""
    conn.exec_driver_sql("UPDATE questions SET plan = '{\"argv\": []}'")

"""The migrations and the tables tell the same, on both engines."""

import asyncio
import re
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedIndex
from sqlalchemy.ext.asyncio import create_async_engine

from core.errors import StoreError
from core.model.approval import HALF_HOUR as GRANTED
from core.model.identity import TaskId
from core.model.pending_limits import PendingLimits
from core.store import approvals, open_store
from core.store.approvals import grants
from core.store.runs import runs
from core.store.schema.people_tables import ALL_TABLES
from core.store.schema.prepare import prepare, upgrade
from core.store.schema.tables import SCHEMA_VERSION
from tests.support.postgres import PostgresServer
from tests.support.store_records import ALICE, ALWAYS, SESSION, draft, run_draft


def _shape(conn: object) -> dict[str, object]:
    """Describe all that a schema fixes: columns, keys, uniqueness, indexes with conditions."""
    looked = inspect(conn)
    assert looked is not None
    return {
        name: (
            [_column(column) for column in looked.get_columns(name)],
            looked.get_pk_constraint(name)["constrained_columns"],
            sorted(tuple(one["column_names"]) for one in looked.get_unique_constraints(name)),
            sorted(
                (str(one["name"]), str(one["column_names"]), _conditions(one))
                for one in looked.get_indexes(name)
            ),
        )
        for name in sorted(looked.get_table_names())
        if name != "schema_version"
    }


def _conditions(index: ReflectedIndex) -> list[str]:
    return sorted(f"{name}: {words}" for name, words in index.get("dialect_options", {}).items())


def _column(column: ReflectedColumn) -> tuple[str, str, bool]:
    return column["name"], str(column["type"]), column["nullable"]


def test_migrated_and_created_sqlite_are_alike(tmp_path: Path) -> None:
    """From nothing through every migration, or from the tables: one shape."""
    shapes = []
    for name, make in (("migrated", upgrade), ("created", prepare)):
        engine = create_engine(f"sqlite:///{tmp_path}/{name}.db")
        with engine.begin() as conn:
            make(conn)
            shapes.append(_shape(conn))
            assert conn.execute(text("SELECT version_num FROM schema_version")).scalar() == (
                SCHEMA_VERSION
            )
            assert conn.execute(text("SELECT high_ms FROM clock")).scalar() == 0
        engine.dispose()
    assert shapes[0] == shapes[1]
    assert set(shapes[0]) == set(ALL_TABLES.tables) - {"schema_version"}


_ADDED = {
    "0005": ("DROP INDEX approvals_waiting", "ALTER TABLE approvals DROP COLUMN input_bytes"),
    "0006": ("ALTER TABLE requests DROP COLUMN wish",),
    "0007": ("ALTER TABLE questions DROP COLUMN step_up",),
    "0008": tuple(f"ALTER TABLE {one} DROP COLUMN task" for one in ("approvals", "runs", "grants")),
    "0009": (
        "ALTER TABLE replicas DROP COLUMN process",
        *(f"ALTER TABLE clock DROP COLUMN {one}" for one in ("steady", "steady_ms", "offset_ms")),
    ),
}
"""What takes back each later version."""


def roll_back(path: Path, version: str) -> None:
    """Make a store one of an earlier version, whose rows know nothing of what came later."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as conn:
        for added, statements in _ADDED.items():
            for statement in statements if added > version else ():
                conn.execute(text(statement))
        conn.execute(text("UPDATE schema_version SET version_num = :to"), {"to": version})
    engine.dispose()


async def test_questions_from_before_keep_waiting(tmp_path: Path) -> None:
    """What waited when the weight of questions was added waits on, and takes a place."""
    path, asked = tmp_path / "state.db", draft()
    store = await open_store(f"sqlite:///{path}")
    await store.write(approvals.create, asked)
    await store.close()
    roll_back(path, "0004")
    store = await open_store(f"sqlite:///{path}")
    found = await store.read(approvals.get, asked.id)
    with pytest.raises(approvals.TooMany):
        await store.write(approvals.create, draft(), PendingLimits(per_agent=1))
    await store.close()
    assert found is not None
    assert (found.resolution, found.step_up) == (None, False)


async def test_grants_from_before_are_of_no_task(tmp_path: Path) -> None:
    """What was granted before tasks were known holds as it did, in each of them."""
    path, asked = tmp_path / "state.db", draft()
    store = await open_store(f"sqlite:///{path}")
    await store.write(approvals.create, asked)
    await store.write(approvals.answer, asked.id, ALWAYS, ALICE, None, "", GRANTED)
    await store.close()
    roll_back(path, "0007")
    store = await open_store(f"sqlite:///{path}")
    (held,) = await store.read(grants.active, asked.plan.agent, SESSION, None, TaskId("fix"))
    (row,) = await store.read(approvals.history, 10)
    await store.close()
    assert (held.id, held.task, row.task) == (asked.id, None, None)


async def test_request_keys_from_before_are_not_compared(tmp_path: Path) -> None:
    """Of a key without a wish nothing is known: it stays its run's, whoever asks."""
    path, run = tmp_path / "state.db", run_draft(key="k", request_digest="one")
    store = await open_store(f"sqlite:///{path}")
    await store.write(runs.begin, run)
    await store.close()
    roll_back(path, "0005")
    store = await open_store(f"sqlite:///{path}")
    found = await store.read(runs.by_request_key, "k", "a wish")
    await store.close()
    assert found == run.id


async def test_migrated_and_created_postgres_are_alike(postgres_server: PostgresServer) -> None:
    """The same on the other engine, its clock function included."""
    shapes = []
    for make in (upgrade, prepare):
        url = await asyncio.to_thread(postgres_server.create)
        engine = create_async_engine(re.sub("^postgresql", "postgresql+asyncpg", _socket(url)))
        async with engine.begin() as conn:
            schema = url.rpartition("=")[2]
            await conn.execute(text(f"SET search_path = {schema}"))
            await conn.run_sync(make)
            shapes.append(await conn.run_sync(_shape))
            body = "SELECT prosrc FROM pg_proc WHERE proname = 'sayso_now' AND "
            shapes[-1]["now"] = (
                await conn.execute(text(f"{body} pronamespace = '{schema}'::regnamespace"))
            ).scalar()
        await engine.dispose()
    assert shapes[0] == shapes[1]
    assert shapes[0]["now"]


def _socket(url: str) -> str:
    return url.partition("&search_path")[0].partition("?search_path")[0]


async def test_an_unknown_old_version_is_refused_by_the_migrations(tmp_path: Path) -> None:
    """An older stamp than any revision goes to the migrations, and nothing is invented."""
    path = tmp_path / "state.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as conn:
        conn.execute(text("CREATE TABLE schema_version (version_num TEXT PRIMARY KEY NOT NULL)"))
        conn.execute(text("INSERT INTO schema_version VALUES ('0000')"))
    engine.dispose()
    with pytest.raises(StoreError, match="0000"):
        await open_store(f"sqlite:///{path}")


async def test_two_gateways_create_one_postgres_schema(postgres_url: str) -> None:
    """Started at the same moment, one creates and both work."""
    stores = await asyncio.gather(*(open_store(postgres_url) for _ in range(3)))
    for store in stores:
        assert await store.write(runs.begin, run_draft())
    await asyncio.gather(*(store.close() for store in stores))


def test_only_the_runners_know_the_engines() -> None:
    """No operation asks which engine it runs on (DESIGN: one set of operations)."""
    store = Path(__file__).parents[4] / "core" / "store"
    allowed = {
        *("open.py", "schema/prepare.py", "schema/tables.py"),
        *("engine/errors.py", "engine/read_only.py"),
    }
    seen = set()
    for path in store.rglob("*.py"):
        name = path.relative_to(store).as_posix()
        if name.startswith(("engine/sqlite/", "engine/postgres/", "migrations/")):
            continue
        code = re.sub(r'""".*?"""|#.*', "", path.read_text(), flags=re.DOTALL)
        if re.search(r"dialect\.name|aiosqlite|asyncpg|\bsqlite3\b", code):
            seen.add(name)
    assert seen <= allowed

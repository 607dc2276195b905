"""Give a migrated database and a new one the same shape, on both engines."""

import asyncio
import re
from pathlib import Path

import pytest
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.engine.interfaces import ReflectedColumn, ReflectedIndex
from sqlalchemy.ext.asyncio import create_async_engine

from core.errors import Conflict, StoreError
from core.store import open_store
from core.store.approvals import idempotency
from core.store.runs import runs
from core.store.schema.people_tables import ALL_TABLES
from core.store.schema.prepare import prepare
from core.store.schema.tables import SCHEMA_VERSION
from tests.support.first_schema import baseline, make_baseline
from tests.support.postgres import PostgresServer
from tests.support.store_records import run_draft


def _shape(conn: object) -> dict[str, object]:
    """Describe everything that a schema fixes: columns, keys, uniqueness, conditional indexes."""
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
    """From the first revision through every migration, or from the tables: one shape."""
    make_baseline(tmp_path / "migrated.db")
    shapes = []
    for name in ("migrated", "created"):
        engine = create_engine(f"sqlite:///{tmp_path}/{name}.db")
        with engine.begin() as conn:
            prepare(conn)
            shapes.append(_shape(conn))
            assert conn.execute(text("SELECT version_num FROM schema_version")).scalar() == (
                SCHEMA_VERSION
            )
            assert conn.execute(text("SELECT high_ms FROM clock")).scalar() == 0
        engine.dispose()
    assert shapes[0] == shapes[1]
    assert set(shapes[0]) == set(ALL_TABLES.tables) - {"schema_version"}


async def test_a_migration_keeps_what_is_there(tmp_path: Path) -> None:
    """A request key stays bound to its request, whatever its column is named."""
    make_baseline(tmp_path / "state.db")
    store = await open_store(f"sqlite:///{tmp_path}/state.db")
    try:
        assert await store.read(idempotency.by_request_key, "k", "asked") == "one"
        with pytest.raises(Conflict, match="belongs to run one"):
            await store.read(idempotency.by_request_key, "k", "another")
    finally:
        await store.close()


async def test_migrated_and_created_postgres_are_alike(postgres_server: PostgresServer) -> None:
    """The same on the other engine, including its clock function."""
    shapes = []
    for statements in (baseline("postgres"), []):
        url = await asyncio.to_thread(postgres_server.create)
        engine = create_async_engine(re.sub("^postgresql", "postgresql+asyncpg", _socket(url)))
        async with engine.begin() as conn:
            schema = url.rpartition("=")[2]
            await conn.execute(text(f"SET search_path = {schema}"))
            for statement in statements:
                await conn.exec_driver_sql(statement)
            await conn.run_sync(prepare)
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


@pytest.mark.parametrize("version", ["0000", "0008"])
async def test_an_unknown_old_version_is_refused(tmp_path: Path, version: str) -> None:
    """A stamp that is older than the first revision changes nothing, and is named."""
    path = tmp_path / "state.db"
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as conn:
        conn.execute(text("CREATE TABLE schema_version (version_num TEXT PRIMARY KEY NOT NULL)"))
        conn.execute(text("INSERT INTO schema_version VALUES (:v)"), {"v": version})
    engine.dispose()
    with pytest.raises(StoreError, match=version):
        await open_store(f"sqlite:///{path}")


async def test_the_tables_of_another_program_are_left_alone(
    tmp_path: Path, postgres_url: str
) -> None:
    """A table of the same name has other columns: what is stored there would be lost."""
    url = f"sqlite:///{tmp_path / 'state.db'}"
    lite = create_engine(url)
    with lite.begin() as conn:
        conn.execute(text("CREATE TABLE people (age INTEGER)"))
    full = create_async_engine(re.sub("^postgresql", "postgresql+asyncpg", _socket(postgres_url)))
    schema = postgres_url.rpartition("=")[2]
    async with full.begin() as other:
        await other.execute(text(f"CREATE TABLE {schema}.people (age INTEGER)"))

    for one in (url, postgres_url):
        with pytest.raises(StoreError, match="another program's tables: people"):
            await open_store(one)

    async with full.begin() as other:
        tables = await other.run_sync(lambda conn: inspect(conn).get_table_names(schema))
    await full.dispose()
    assert tables == inspect(lite).get_table_names() == ["people"]
    lite.dispose()


async def test_two_gateways_create_one_postgres_schema(postgres_url: str) -> None:
    """Started at the same moment, one creates and both work."""
    stores = await asyncio.gather(*(open_store(postgres_url) for _ in range(3)))
    for store in stores:
        assert await store.write(runs.begin, run_draft())
    await asyncio.gather(*(store.close() for store in stores))


def test_only_the_runners_know_the_engines() -> None:
    """No operation asks which engine it runs on (one set of operations)."""
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

"""Bring a database to the shape of ``tables``; Alembic is loaded only where it is older.

A fresh database is made from ``tables`` and stamped; a test keeps the two in step.
"""

from functools import cache
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, Index, insert, inspect, make_url, select, text
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from core.errors import StoreError
from core.store.schema.people_tables import ALL_TABLES
from core.store.schema.tables import NOW_FUNCTION, NOW_ROW, SCHEMA_VERSION, schema_version

MIGRATIONS: Final = Path(__file__).parents[1] / "migrations"


def prepare(conn: Connection) -> None:
    """Create or migrate the schema inside the caller's transaction.

    Raises:
        StoreError: a newer Sayso made the database, or another program's tables are in it.
    """
    if not inspect(conn).has_table(schema_version.name):
        _create(conn)
        return
    found = conn.execute(select(schema_version.c.version_num)).scalar()
    if found == SCHEMA_VERSION:
        return
    if found is None or found > SCHEMA_VERSION:
        raise StoreError(
            f"The database has schema {found}, this Sayso knows {SCHEMA_VERSION}. "
            "Start the newer Sayso, or restore the backup made before it."
        )
    upgrade(conn)


def upgrade(conn: Connection, revision: str = "head") -> None:
    """Run the migrations up to ``revision`` on this connection.

    Raises:
        StoreError: the database's version is in no migration's history.
    """
    from alembic import command  # noqa: PLC0415 - 100 ms that an up-to-date start does not pay
    from alembic.config import Config  # noqa: PLC0415 - the same
    from alembic.util import CommandError  # noqa: PLC0415 - the same

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = conn
    try:
        command.upgrade(config, revision)
    except CommandError as error:
        raise StoreError(
            f"The database cannot be migrated: {error}. Restore the backup made before it, or "
            "start the Sayso that made it."
        ) from error


def _create(conn: Connection) -> None:
    looked = inspect(conn)
    there = looked.get_table_names(looked.default_schema_name)
    taken = sorted(ALL_TABLES.tables.keys() & set(there))
    if taken:
        raise StoreError(
            f"The database has another program's tables: {', '.join(taken)}. Give Sayso "
            "a database of its own, and name that in store.url."
        )
    for statement in _definitions(f"{conn.dialect.name}+{conn.dialect.driver}"):
        conn.exec_driver_sql(statement)
    conn.execute(text(NOW_ROW))
    if conn.dialect.name == "postgresql":
        conn.execute(text(NOW_FUNCTION))
    conn.execute(insert(schema_version).values(version_num=SCHEMA_VERSION))


@cache
def _definitions(driver: str) -> tuple[str, ...]:
    """Return the statements that create every table; to compile them takes longer than to run."""
    made: list[ExecutableDDLElement] = []
    for table in ALL_TABLES.sorted_tables:
        made += (CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=_name)))
    wanted = make_url(f"{driver}://").get_dialect()()
    return tuple(str(one.compile(dialect=wanted)) for one in made)


def _name(index: Index) -> str:
    return str(index.name)

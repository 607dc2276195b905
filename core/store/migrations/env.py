"""Run migrations on the connection that ``core.store.schema.prepare`` hands over."""

from alembic import context

from core.store.schema.people_tables import ALL_TABLES
from core.store.schema.tables import schema_version

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=ALL_TABLES,
    version_table=schema_version.name,
)
context.run_migrations()

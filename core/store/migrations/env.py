"""Run migrations on the connection that ``core.store.schema`` hands over."""

from alembic import context

from core.store.tables import metadata, schema_version

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=schema_version.name,
)
context.run_migrations()

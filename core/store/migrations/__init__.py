"""Keep the schema's history; Alembic reads it, and only where a database is older."""

"""Begin the history: the schema of the first release, which a new database is created with."""

from typing import Final

revision: Final = "0009"
down_revision: Final = None


def upgrade() -> None:
    """Change nothing; ``core.store.schema.prepare`` creates new databases from the tables."""

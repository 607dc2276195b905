"""Name the digest of a request by what it is; drop tables that nothing reads."""

from typing import Final

from alembic import op

revision: Final = "0010"
down_revision: Final = "0009"


def upgrade() -> None:
    """Rename the column, which keeps its values, and drop the tables."""
    op.execute("ALTER TABLE requests RENAME COLUMN wish TO digest")
    for table in ("leases", "cursors"):
        op.drop_table(table)

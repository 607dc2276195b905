"""Keep the task that a requester names, and bind grants to it."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0008"
down_revision: Final = "0007"


def upgrade() -> None:
    """Note it where it is shown and compared; what is there already belongs to no task."""
    for table in ("approvals", "runs", "grants"):
        op.add_column(table, sa.Column("task", sa.Text))

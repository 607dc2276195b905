"""Weigh what waits for people, by an index: how many questions an agent has, and how much input."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0005"
down_revision: Final = "0004"


def upgrade() -> None:
    """Note each question's standard input; what was asked before counts as one without any."""
    weight = sa.Column("input_bytes", sa.Integer, nullable=False, server_default=sa.text("0"))
    op.add_column("approvals", weight)
    waiting = sa.text("state = 'pending'")
    op.create_index(
        "approvals_waiting",
        "approvals",
        ["agent", "input_bytes"],
        sqlite_where=waiting,
        postgresql_where=waiting,
    )

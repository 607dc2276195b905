"""Keep whether a question is allowed by typed answers only."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0007"
down_revision: Final = "0006"


def upgrade() -> None:
    """Note it beside each question; those from before are allowed by buttons too, as they said."""
    column = sa.Column("step_up", sa.Integer, nullable=False, server_default=sa.text("0"))
    op.add_column("questions", column)

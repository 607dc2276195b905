"""Keep in whose journal a question, a vote, an end of a question and the end of a run belong."""

from typing import Final

from alembic import op
from sqlalchemy import Column, Text

revision: Final = "0022"
down_revision: Final = "0021"


def upgrade() -> None:
    """Add the columns; nobody knows any more whose journal has what is there."""
    for table in ("approvals", "decisions", "votes", "runs"):
        op.add_column(table, Column("journal", Text))

"""Keep the prompts that people give agents in chats, and where their words go."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text, text

revision: Final = "0017"
down_revision: Final = "0015"


def upgrade() -> None:
    """Make the table, and the index of those that have not ended."""
    op.create_table(
        "agent_threads",
        Column("key", Text, primary_key=True),
        Column("agent", Text, nullable=False),
        Column("account", Text, nullable=False),
        Column("place", Text, nullable=False),
        Column("thread", Text),
        Column("reply_to", Text, nullable=False),
        Column("parts", Integer, nullable=False),
        Column("ended", Integer, nullable=False),
        Column("at_ms", BigInteger, nullable=False),
    )
    still_open = text("ended = 0")
    op.create_index(
        "agent_threads_open",
        "agent_threads",
        ["at_ms"],
        sqlite_where=still_open,
        postgresql_where=still_open,
    )

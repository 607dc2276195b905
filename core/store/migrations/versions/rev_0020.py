"""Keep the prompts that people give agents in chats, and where their words go."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text

revision: Final = "0020"
down_revision: Final = "0019"


def upgrade() -> None:
    """Make the table, and the index that finds those that have not ended."""
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
    op.create_index("agent_threads_ended", "agent_threads", ["ended", "at_ms"])

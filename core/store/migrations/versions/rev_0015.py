"""Keep what people were shown of a question, and find a session's history by an index."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text, text

revision: Final = "0015"
down_revision: Final = "0014"


def upgrade() -> None:
    """Make the tables and indexes; nothing that was shown before is on record."""
    op.create_table(
        "showings",
        Column("approval_id", Text, primary_key=True),
        Column("key", Text, primary_key=True),
        Column("surface", Text, nullable=False),
        Column("channel", Text, nullable=False),
        Column("place", Text, nullable=False),
        Column("message", Text, nullable=False),
        Column("account", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("hash", Text, nullable=False),
        Column("at_ms", BigInteger, nullable=False),
        Column("waiting", Integer, nullable=False),
    )
    op.create_table(
        "shown_texts",
        Column("approval_id", Text, primary_key=True),
        Column("hash", Text, primary_key=True),
        Column("text", Text, nullable=False),
    )
    op.create_index("approvals_session", "approvals", ["session", "created_ms"])
    unasked = text("asked = 0")
    op.create_index(
        "runs_session",
        "runs",
        ["session", "created_ms"],
        sqlite_where=unasked,
        postgresql_where=unasked,
    )

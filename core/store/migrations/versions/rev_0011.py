"""Add the tables of nodes and of machines that want to be one."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision: Final = "0011"
down_revision: Final = "0010"


def upgrade() -> None:
    """Make both tables; nothing that exists changes."""
    op.create_table(
        "nodes",
        Column("id", Text, primary_key=True),
        Column("token_hash", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("address", Text, nullable=False),
        Column("paired_by", Text, nullable=False),
        Column("paired_ms", BigInteger, nullable=False),
        Column("seen_ms", BigInteger),
    )
    op.create_table(
        "node_requests",
        Column("id", Text, primary_key=True),
        Column("code", Text, nullable=False, unique=True),
        Column("token_hash", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("address", Text, nullable=False),
        Column("created_ms", BigInteger, nullable=False),
        Column("expires_ms", BigInteger, nullable=False),
    )

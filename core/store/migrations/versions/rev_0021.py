"""Keep browsers that take web push, the key that signs it, and what notifications answer with."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision: Final = "0021"
down_revision: Final = "0020"


def upgrade() -> None:
    """Make the tables and indexes."""
    op.create_table(
        "push_subscriptions",
        Column("id", Text, primary_key=True),
        Column("session", Text, nullable=False),
        Column("person", Text, nullable=False),
        Column("endpoint_hash", Text, nullable=False, unique=True),
        Column("sealed", Text, nullable=False),
        Column("name", Text, nullable=False),
        Column("created_ms", BigInteger, nullable=False),
    )
    op.create_table(
        "push_keys",
        Column("id", Text, primary_key=True),
        Column("sealed", Text, nullable=False),
    )
    op.create_table(
        "push_answers",
        Column("hash", Text, primary_key=True),
        Column("subscription", Text, nullable=False),
        Column("approval_id", Text, nullable=False),
        Column("digest", Text, nullable=False),
        Column("expires_ms", BigInteger, nullable=False),
    )
    op.create_index("push_subscriptions_person", "push_subscriptions", ["person"])
    op.create_index("push_answers_of", "push_answers", ["subscription", "approval_id"])
    op.create_index("push_answers_expires", "push_answers", ["expires_ms"])

"""Add people's authenticator apps, and what step-up answers were proven with."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, Text

revision: Final = "0013"
down_revision: Final = "0012"


def upgrade() -> None:
    """Make both tables; nobody has an app yet, so the typed code still counts."""
    op.create_table(
        "totp_keys",
        Column("person", Text, primary_key=True),
        Column("secret", Text, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("created_ms", BigInteger, nullable=False),
        Column("last_step", BigInteger, nullable=False),
        Column("tries", Integer, nullable=False),
        Column("since_ms", BigInteger, nullable=False),
    )
    op.create_table(
        "proofs",
        Column("approval_id", Text, primary_key=True),
        Column("person", Text, primary_key=True),
        Column("digest", Text, nullable=False),
        Column("reply", Text, nullable=False),
        Column("step", BigInteger, nullable=False),
        Column("at_ms", BigInteger, nullable=False),
    )

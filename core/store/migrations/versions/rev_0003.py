"""Add the tokens of callers over the network."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"


def upgrade() -> None:
    """Create the table of tokens; only a token's hash is kept."""
    op.create_table(
        "tokens",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("hash", sa.Text, nullable=False, unique=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("agent", sa.Text),
        sa.Column("person", sa.Text),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("used_ms", sa.BigInteger),
        sa.Column("revoked_ms", sa.BigInteger),
    )
    live = sa.text("revoked_ms IS NULL")
    op.create_index(
        "tokens_name",
        "tokens",
        ["name"],
        unique=True,
        sqlite_where=live,
        postgresql_where=live,
    )

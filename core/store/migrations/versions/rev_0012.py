"""Add the links into the control page, and let a token be the session of a browser there."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision: Final = "0012"
down_revision: Final = "0011"


def upgrade() -> None:
    """Make the table and the column; existing tokens are no browser's."""
    op.add_column("tokens", Column("browser", Text))
    op.create_table(
        "page_links",
        Column("hash", Text, primary_key=True),
        Column("person", Text, nullable=False),
        Column("scopes", Text, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("created_ms", BigInteger, nullable=False),
        Column("expires_ms", BigInteger, nullable=False),
        Column("browser_hash", Text),
        Column("used_ms", BigInteger),
    )

"""Add people's passkeys, the challenges that they sign, and a place for what they signed."""

from typing import Final

from alembic import op
from sqlalchemy import BigInteger, Column, Text

revision: Final = "0014"
down_revision: Final = "0013"


def upgrade() -> None:
    """Make the tables and the column; what was proven with codes has no signature."""
    op.create_table(
        "passkeys",
        Column("id", Text, primary_key=True),
        Column("person", Text, nullable=False),
        Column("public_key", Text, nullable=False),
        Column("sign_count", BigInteger, nullable=False),
        Column("name", Text, nullable=False),
        Column("created_by", Text, nullable=False),
        Column("created_ms", BigInteger, nullable=False),
        Column("used_ms", BigInteger),
    )
    op.create_index("passkeys_person", "passkeys", ["person"])
    op.create_table(
        "passkey_challenges",
        Column("hash", Text, primary_key=True),
        Column("about", Text, nullable=False),
        Column("expires_ms", BigInteger, nullable=False),
    )
    op.create_index("passkey_challenges_expires", "passkey_challenges", ["expires_ms"])
    op.add_column("proofs", Column("passkey", Text))

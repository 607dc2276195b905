"""Keep the public key of the passkey that signed, next to what it signed."""

from typing import Final

from alembic import op
from sqlalchemy import Column, Text

revision: Final = "0019"
down_revision: Final = "0015"


def upgrade() -> None:
    """Add the column, with the keys of passkeys that are still known."""
    op.add_column("proofs", Column("public_key", Text))
    # What was signed is JSON as this program writes it, so the passkey's id is in quotes.
    op.execute(
        "UPDATE proofs SET public_key = (SELECT MAX(passkeys.public_key) FROM passkeys "
        "WHERE passkeys.person = proofs.person "
        "AND proofs.passkey LIKE '%\"passkey\":\"' || passkeys.id || '\"%') "
        "WHERE proofs.passkey IS NOT NULL"
    )

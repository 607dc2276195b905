"""Add people, votes, grants, and what sessions remember."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"


def upgrade() -> None:
    """Create the tables of ``core.store.schema.people_tables``."""
    _people()
    _granted()
    _sessions()
    op.create_index("accounts_person", "accounts", ["person"])
    live = sa.text("revoked_ms IS NULL")
    op.create_index(
        "grants_live", "grants", ["created_ms"], sqlite_where=live, postgresql_where=live
    )


def _people() -> None:
    op.create_table(
        "votes",
        sa.Column("approval_id", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, primary_key=True),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("reply", sa.Text, nullable=False),
        sa.Column("terms", sa.Text),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("revoked_ms", sa.BigInteger),
    )
    op.create_table(
        "accounts",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("linked_ms", sa.BigInteger, nullable=False),
    )


def _granted() -> None:
    op.create_table(
        "pairings",
        sa.Column("code_hash", sa.Text, primary_key=True),
        sa.Column("person", sa.Text, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "pair_tries",
        sa.Column("channel", sa.Text, primary_key=True),
        sa.Column("account", sa.Text, primary_key=True),
        sa.Column("tries", sa.Integer, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "grants",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("approval_id", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("session", sa.Text),
        sa.Column("promise", sa.Text, nullable=False),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("account", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("uses_left", sa.BigInteger),
        sa.Column("used_ms", sa.BigInteger),
        sa.Column("revoked_ms", sa.BigInteger),
    )


def _sessions() -> None:
    op.create_table(
        "session_settings",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("origin", sa.Text),
        sa.Column("overrides", sa.Text),
        sa.Column("set_by", sa.Text),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "threads",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("place", sa.Text, primary_key=True),
        sa.Column("thread", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )

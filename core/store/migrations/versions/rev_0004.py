"""Find an agent's last commands by an index, however many others asked for since."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0004"
down_revision: Final = "0003"


def upgrade() -> None:
    """Index approvals, and runs that no person was asked about, by agent and time."""
    op.create_index("approvals_agent", "approvals", ["agent", "created_ms"])
    unasked = sa.text("asked = 0")
    op.create_index(
        "runs_agent",
        "runs",
        ["agent", "created_ms"],
        sqlite_where=unasked,
        postgresql_where=unasked,
    )

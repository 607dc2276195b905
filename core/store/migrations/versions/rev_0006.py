"""Keep what was asked under a request key, so that another command under it is refused."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0006"
down_revision: Final = "0005"


def upgrade() -> None:
    """Note the wish beside its key; of what was asked before it is unknown, and not compared."""
    op.add_column("requests", sa.Column("wish", sa.Text))

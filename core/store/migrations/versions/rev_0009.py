"""Let no step of a wall clock move the store's clock; name each gateway's process."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0009"
down_revision: Final = "0008"

_NOW: Final = """
CREATE OR REPLACE FUNCTION sayso_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT GREATEST((extract(epoch FROM clock_timestamp()) * 1000)::bigint + offset_ms, high_ms)
  FROM clock WHERE id = 1
$$
"""


def upgrade() -> None:
    """Keep the mark's steady clock, or how far the server's was set; what is there has neither."""
    offset = sa.Column("offset_ms", sa.BigInteger, nullable=False, server_default=sa.text("0"))
    op.add_column("clock", sa.Column("steady", sa.Text))
    op.add_column("clock", sa.Column("steady_ms", sa.BigInteger))
    op.add_column("clock", offset)
    op.add_column("replicas", sa.Column("process", sa.Text))
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_NOW)

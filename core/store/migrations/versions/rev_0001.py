"""Create the first schema."""

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None

_SERIAL = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_NOW = """
CREATE OR REPLACE FUNCTION sayso_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT GREATEST((extract(epoch FROM clock_timestamp()) * 1000)::bigint,
                  (SELECT high_ms FROM clock WHERE id = 1))
$$
"""


def upgrade() -> None:
    """Create all tables and indexes, and PostgreSQL's clock."""
    _questions()
    _asked()
    _messages()
    _machines()
    _surroundings()
    _indexes()
    op.execute("INSERT INTO clock (id, high_ms) VALUES (1, 0)")
    if op.get_bind().dialect.name == "postgresql":
        op.execute(_NOW)


def _questions() -> None:
    op.create_table(
        "approvals",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("code", sa.Text, nullable=False, unique=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("deadline_ms", sa.BigInteger, nullable=False),
        sa.Column("timeout_ms", sa.BigInteger, nullable=False),
        sa.Column("delivered_ms", sa.BigInteger),
        sa.Column("remind_at_ms", sa.BigInteger),
        sa.Column("quorum", sa.Integer, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("behind", sa.Text),
    )


def _asked() -> None:
    op.create_table(
        "questions",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("evaluation", sa.Text, nullable=False),
        sa.Column("requester", sa.Text, nullable=False),
        sa.Column("origin", sa.Text),
        sa.Column("reminders", sa.Text, nullable=False),
        sa.Column("local", sa.Integer, nullable=False),
        sa.Column("ladder", sa.Text),
    )
    op.create_table(
        "decisions",
        sa.Column("approval_id", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("reply", sa.Text),
        sa.Column("terms", sa.Text),
        sa.Column("reason", sa.Text),
        sa.Column("channel", sa.Text),
        sa.Column("account", sa.Text),
        sa.Column("name", sa.Text),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("owed", sa.Integer, nullable=False),
    )


def _messages() -> None:
    op.create_table(
        "inbound",
        sa.Column("inbound_key", sa.Text, primary_key=True),
        sa.Column("approval_id", sa.Text, primary_key=True),
        sa.Column("won", sa.Integer, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "requests",
        sa.Column("request_key", sa.Text, primary_key=True),
        sa.Column("run_id", sa.Text, nullable=False, unique=True),
    )
    op.create_table(
        "outbox",
        sa.Column("id", _SERIAL, primary_key=True),
        sa.Column("approval_id", sa.Text),
        sa.Column("prompt_id", sa.BigInteger),
        sa.Column("channel", sa.Text, nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("payload", sa.Text, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_ms", sa.BigInteger, nullable=False),
        sa.Column("claimed_by", sa.Text),
        sa.Column("uncertain", sa.Integer, nullable=False),
        sa.Column("idem_key", sa.Text, nullable=False, unique=True),
        sa.Column("message", sa.Text),
        sa.Column("why", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
    )


def _machines() -> None:
    op.create_table(
        "runs",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("session", sa.Text, nullable=False),
        sa.Column("place", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("owner", sa.Text),
        sa.Column("pid", sa.BigInteger),
        sa.Column("pgid", sa.BigInteger),
        sa.Column("start_ticks", sa.BigInteger),
        sa.Column("boot_id", sa.Text),
        sa.Column("noted", sa.Integer, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("started_ms", sa.BigInteger),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("exit_code", sa.Integer),
        sa.Column("reason", sa.Text),
        sa.Column("why", sa.Text),
        sa.Column("result", sa.Text),
    )
    op.create_table(
        "sessions",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("last_seq", sa.BigInteger, nullable=False),
        sa.Column("acked_seq", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "session_events",
        sa.Column("session", sa.Text, primary_key=True),
        sa.Column("seq", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("run_id", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
    )


def _surroundings() -> None:
    op.create_table(
        "clock",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("high_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "leases",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "cursors",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
        sa.Column("token", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "replicas",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("expires_ms", sa.BigInteger, nullable=False),
    )


def _indexes() -> None:
    _partial("approvals_due", "approvals", "deadline_ms", "state = 'pending'")
    _partial("approvals_reminds", "approvals", "remind_at_ms", "state = 'pending'")
    _partial("approvals_alike", "approvals", "digest", "state = 'pending'")
    behind = "behind IS NOT NULL"
    _partial("approvals_behind", "approvals", "behind", behind)
    _partial("decisions_owed", "decisions", "at_ms", "owed = 1")
    _partial("runs_open", "runs", "created_ms", "state IN ('queued', 'started')")
    _partial("outbox_due", "outbox", "due_ms", "state IN ('ready', 'sending')")
    _partial("outbox_stale", "outbox", "id", "state = 'stale'")
    op.create_index("approvals_created", "approvals", ["created_ms"])
    op.create_index("decisions_at", "decisions", ["at_ms"])
    op.create_index("runs_created", "runs", ["created_ms"])
    op.create_index("inbound_at", "inbound", ["at_ms"])
    op.create_index("outbox_approval", "outbox", ["approval_id"])
    op.create_index("outbox_message", "outbox", ["message"])


def _partial(name: str, table: str, column: str, where: str) -> None:
    condition = sa.text(where)
    op.create_index(name, table, [column], sqlite_where=condition, postgresql_where=condition)

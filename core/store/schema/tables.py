"""Define the tables of the durable state; ``migrations/`` brings an older database to this shape.

Times are epoch ms on the database's clock. States are written as the words of the enums in
``core.model`` and ``core.store.schema.states``. Partial indexes keep the cost of a sweep
proportional to what is due, not to what was ever stored.
"""

from typing import Any, Final

from sqlalchemy import (
    BigInteger,
    Column,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    text,
)

SCHEMA_VERSION: Final = "0022"
"""The revision of ``migrations/versions`` that equals this module; a test keeps them in step."""

metadata = MetaData()
_SERIAL = BigInteger().with_variant(Integer, "sqlite")  # only INTEGER numbers itself on SQLite

schema_version = Table(
    "schema_version", metadata, Column("version_num", Text, primary_key=True, nullable=False)
)

clock = Table(
    "clock",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("high_ms", BigInteger, nullable=False),
    Column("steady", Text),
    Column("steady_ms", BigInteger),
    Column("offset_ms", BigInteger, nullable=False, server_default=text("0")),
)

approvals = Table(
    "approvals",
    metadata,
    Column("id", Text, primary_key=True),
    Column("code", Text, nullable=False, unique=True),
    Column("state", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("deadline_ms", BigInteger, nullable=False),
    Column("timeout_ms", BigInteger, nullable=False),
    Column("delivered_ms", BigInteger),  # the first confirmed copy: the time to answer starts here
    Column("remind_at_ms", BigInteger),
    Column("quorum", Integer, nullable=False),
    Column("digest", Text, nullable=False),
    Column("behind", Text),  # the identical question that is asked first
    Column("input_bytes", Integer, nullable=False, server_default=text("0")),
    Column("task", Text),
    Column("journal", Text),  # the id of the journal that records it; NULL: nobody knows
)

# Apart from ``approvals``: an engine rewrites a whole row for each change of state, and these
# are nine tenths of it (10,000 deadlines in one instant wrote 40 MB).
questions = Table(
    "questions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("plan", Text, nullable=False),
    Column("evaluation", Text, nullable=False),
    Column("requester", Text, nullable=False),
    Column("origin", Text),
    Column("reminders", Text, nullable=False),  # JSON: ms after the clock's start, ascending
    Column("local", Integer, nullable=False),  # 1: somebody who needs no prompt may answer
    Column("ladder", Text),  # JSON: the prompts of a question that waits behind another
    Column("step_up", Integer, nullable=False, server_default=text("0")),  # 1: typed answers only
)

decisions = Table(
    "decisions",
    metadata,
    Column("approval_id", Text, primary_key=True),  # a second guard besides the guarded update
    Column("state", Text, nullable=False),
    Column("source", Text, nullable=False),
    Column("reply", Text),
    Column("terms", Text),
    Column("reason", Text),
    Column("channel", Text),
    Column("account", Text),
    Column("name", Text),
    Column("note", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("owed", Integer, nullable=False),  # 1: allow-always not yet in the approvals file
    Column("journal", Text),
)

inbound = Table(
    "inbound",
    metadata,
    Column("inbound_key", Text, primary_key=True),
    Column("approval_id", Text, primary_key=True),
    Column("won", Integer, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

requests = Table(
    "requests",
    metadata,
    Column("request_key", Text, primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("digest", Text),  # SHA-256 of what was asked, see request_digest; NULL: not compared
)

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("asked", Integer, nullable=False),
    Column("state", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("session", Text, nullable=False),
    Column("place", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("owner", Text),
    Column("pid", BigInteger),
    Column("pgid", BigInteger),
    Column("start_ticks", BigInteger),
    Column("boot_id", Text),
    Column("noted", Integer, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("exit_code", Integer),
    Column("reason", Text),
    Column("why", Text),
    Column("result", Text),
    Column("task", Text),
    Column("journal", Text),  # of its end
)

sessions = Table(
    "sessions",
    metadata,
    Column("session", Text, primary_key=True),
    Column("last_seq", BigInteger, nullable=False),
    Column("acked_seq", BigInteger, nullable=False),
)

session_events = Table(
    "session_events",
    metadata,
    Column("session", Text, primary_key=True),
    Column("seq", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("run_id", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", _SERIAL, primary_key=True),
    Column("approval_id", Text),
    Column("prompt_id", BigInteger),  # the copy that an edit or a reminder belongs to
    Column("channel", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("step", Integer, nullable=False),  # of the escalation ladder; 0 is asked at once
    Column("kind", Text, nullable=False),
    Column("payload", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("due_ms", BigInteger, nullable=False),  # while sending: the end of the claim
    Column("claimed_by", Text),
    Column("uncertain", Integer, nullable=False),
    Column("idem_key", Text, nullable=False, unique=True),
    Column("message", Text),
    Column("why", Text),
    Column("created_ms", BigInteger, nullable=False),
)

replicas = Table(
    "replicas",
    metadata,
    Column("id", Text, primary_key=True),
    Column("expires_ms", BigInteger, nullable=False),
    Column("process", Text),
)


def _partial(name: str, where: str, *columns: Column[Any]) -> None:
    Index(name, *columns, sqlite_where=text(where), postgresql_where=text(where))


_partial("approvals_due", "state = 'pending'", approvals.c.deadline_ms)
_partial("approvals_reminds", "state = 'pending'", approvals.c.remind_at_ms)
_partial("approvals_alike", "state = 'pending'", approvals.c.digest)
_partial("approvals_behind", "behind IS NOT NULL", approvals.c.behind)
_partial("approvals_waiting", "state = 'pending'", approvals.c.agent, approvals.c.input_bytes)
_partial("decisions_owed", "owed = 1", decisions.c.at_ms)
_partial("runs_open", "state IN ('queued', 'started')", runs.c.created_ms)
_partial("runs_agent", "asked = 0", runs.c.agent, runs.c.created_ms)
_partial("runs_session", "asked = 0", runs.c.session, runs.c.created_ms)
_partial("outbox_due", "state IN ('ready', 'sending')", outbox.c.due_ms)
_partial("outbox_stale", "state = 'stale'", outbox.c.id)
Index("approvals_created", approvals.c.created_ms)
Index("approvals_agent", approvals.c.agent, approvals.c.created_ms)
Index("approvals_session", approvals.c.session, approvals.c.created_ms)
Index("decisions_at", decisions.c.at_ms)
Index("runs_created", runs.c.created_ms)
Index("inbound_at", inbound.c.at_ms)
Index("outbox_approval", outbox.c.approval_id)
Index("outbox_message", outbox.c.message)

# A planner uses a partial index only for a condition that it can prove while planning, so these
# conditions carry their constants instead of bound parameters.
IS_PENDING: Final = text("approvals.state = 'pending'")
HAS_LEADER: Final = text("approvals.behind IS NOT NULL")
IS_UNASKED_RUN: Final = text("runs.asked = 0")
IS_OPEN_RUN: Final = text("runs.state IN ('queued', 'started')")
IS_OPEN_ITEM: Final = text("outbox.state IN ('ready', 'sending')")
IS_SHOWN_PROMPT: Final = text("(outbox.kind = 'prompt' AND outbox.state = 'sent')")
IS_SHOWN_COPY: Final = text("(outbox.kind IN ('prompt', 'reminder') AND outbox.state = 'sent')")
"""A prompt, or a reminder of one, that says that an answer is awaited."""
IS_ENDED_PROMPT: Final = text("(outbox.kind = 'prompt' AND outbox.state IN ('stale', 'closed'))")
IS_STALE_PROMPT: Final = text("outbox.state = 'stale'")

NOW_FUNCTION: Final = """
CREATE OR REPLACE FUNCTION sayso_now() RETURNS bigint LANGUAGE sql VOLATILE AS $$
  SELECT GREATEST((extract(epoch FROM clock_timestamp()) * 1000)::bigint + offset_ms, high_ms)
  FROM clock WHERE id = 1
$$
"""
"""The clock that no statement can see go back; SQLite gets a function of the same name.

``offset_ms`` undoes what somebody set the server's wall clock by.
"""

NOW_ROW: Final = "INSERT INTO clock (id, high_ms) VALUES (1, 0)"

"""Forget what is old and over: never a pending approval, an open run, an unacknowledged event.

Grants and tokens that ended are forgotten as well, and so are grants that were unused for so long
that they no longer count; those that still hold stay, however old.
"""

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Table,
    Text,
    bindparam,
    delete,
    exists,
    func,
    literal,
    select,
)

from core.model.identity import API_CHANNEL
from core.store.approvals.grants import TASK_IDLE_MS
from core.store.outbox.agent_messages import keys_of
from core.store.schema.people_tables import (
    accounts,
    agent_threads,
    grants,
    page_links,
    pairings,
    people,
    proofs,
    push_answers,
    push_subscriptions,
    session_settings,
    showings,
    shown_texts,
    threads,
    tokens,
    votes,
)
from core.store.schema.tables import (
    IS_OPEN_ITEM,
    IS_OPEN_RUN,
    IS_STALE_PROMPT,
    approvals,
    decisions,
    inbound,
    outbox,
    questions,
    requests,
    runs,
    session_events,
    sessions,
)

_BEFORE = bindparam("p_before", type_=decisions.c.at_ms.type)
_LIMIT = bindparam("p_limit", type_=Integer)
_open_run = exists().where(runs.c.id == decisions.c.approval_id, IS_OPEN_RUN)
_open_item = exists().where(outbox.c.approval_id == decisions.c.approval_id, IS_OPEN_ITEM)
_open_copy = exists().where(outbox.c.approval_id == decisions.c.approval_id, IS_STALE_PROMPT)
_OLD_APPROVALS = (
    select(decisions.c.approval_id)
    .where(decisions.c.at_ms < _BEFORE, decisions.c.owed == 0)
    .where(~_open_run, ~_open_item, ~_open_copy)
    .order_by(decisions.c.at_ms)
    .limit(_LIMIT)
)
_OLD_RUNS = (
    select(runs.c.id)
    .where(runs.c.asked == 0, runs.c.created_ms < _BEFORE, runs.c.ended_ms < _BEFORE)
    .order_by(runs.c.created_ms)
    .limit(_LIMIT)
)
_IDS = bindparam("p_ids", type_=Text, expanding=True)
_FORGET: tuple[tuple[Table, str], ...] = (
    (outbox, "approval_id"),
    (inbound, "approval_id"),
    (votes, "approval_id"),
    (proofs, "approval_id"),
    (showings, "approval_id"),
    (shown_texts, "approval_id"),
    (requests, "run_id"),
    (runs, "id"),
    (decisions, "approval_id"),
    (questions, "id"),
    (approvals, "id"),
)
_DELETES = tuple(delete(table).where(table.c[key].in_(_IDS)) for table, key in _FORGET)
_old_events = (
    select(session_events.c.session, session_events.c.seq)
    .join(sessions, sessions.c.session == session_events.c.session)
    .where(session_events.c.at_ms < _BEFORE, session_events.c.seq <= sessions.c.acked_seq)
    .limit(_LIMIT)
)
_DELETE_EVENT = delete(session_events).where(
    session_events.c.session == bindparam("p_session"), session_events.c.seq == bindparam("p_seq")
)
_last_use = func.coalesce(grants.c.used_ms, grants.c.created_ms)
_of_idle_task = (
    grants.c.task.is_not(None)
    & grants.c.expires_ms.is_(None)
    & (_last_use + TASK_IDLE_MS < _BEFORE)
)
_DELETE_GRANTS = delete(grants).where(
    (grants.c.revoked_ms < _BEFORE)
    | (grants.c.expires_ms < _BEFORE)
    | ((grants.c.uses_left == 0) & (grants.c.used_ms < _BEFORE))
    | _of_idle_task
)
_IDLE_GRANTS = delete(grants).where(_last_use + bindparam("p_idle", type_=BigInteger) < _BEFORE)
_OLD_THREADS = (
    select(agent_threads.c.key, agent_threads.c.parts)
    .where(agent_threads.c.at_ms < _BEFORE, agent_threads.c.ended == 1)
    .limit(_LIMIT)
)
_KEYS = bindparam("p_keys", type_=Text, expanding=True)
_DELETE_THREADS = delete(agent_threads).where(agent_threads.c.key.in_(_KEYS))
_DELETE_MESSAGES = delete(outbox).where(outbox.c.idem_key.in_(_KEYS))
_lives = exists().where(
    session_settings.c.session == threads.c.session, session_settings.c.at_ms >= _BEFORE
)
_old_token = (tokens.c.revoked_ms < _BEFORE) | (tokens.c.expires_ms < _BEFORE)
_OLD_TOKENS = select(tokens.c.id).where(_old_token)
_DELETE_TOKENS = (
    delete(push_subscriptions).where(push_subscriptions.c.session.in_(_OLD_TOKENS)),
    delete(accounts).where(accounts.c.channel == API_CHANNEL, accounts.c.account.in_(_OLD_TOKENS)),
    delete(people).where(
        people.c.id.in_(select(literal(f"{API_CHANNEL}:") + tokens.c.id).where(_old_token))
    ),
    delete(tokens).where(_old_token),
)
_DELETE_SURROUNDINGS = (
    delete(pairings).where(pairings.c.expires_ms < _BEFORE),
    delete(page_links).where(page_links.c.expires_ms < _BEFORE),
    delete(push_answers).where(push_answers.c.expires_ms < _BEFORE),
    delete(threads).where(threads.c.at_ms < _BEFORE, ~_lives),
    # What a person set for a session may be stricter than the configuration: it stays.
    delete(session_settings).where(
        session_settings.c.at_ms < _BEFORE, session_settings.c.overrides.is_(None)
    ),
)


def prune(conn: Connection, before_ms: int, limit: int = 500, idle_ms: int | None = None) -> int:
    """Delete at most ``limit`` requests and ``limit`` events that ended before ``before_ms``.

    ``idle_ms`` is how long without use until a grant no longer counts, ``None`` where it always
    does. Returns how many rows of history went; 0 means done. Session counters stay, so numbers
    never restart.
    """
    old = {"p_before": before_ms, "p_limit": limit}
    ids = [*conn.execute(_OLD_APPROVALS, old).scalars(), *conn.execute(_OLD_RUNS, old).scalars()]
    if ids:
        for statement in _DELETES:
            conn.execute(statement, {"p_ids": ids})
    events = [
        {"p_session": row.session, "p_seq": row.seq} for row in conn.execute(_old_events, old)
    ]
    if events:
        conn.execute(_DELETE_EVENT, events)
    _prune_threads(conn, old)
    for statement in (_DELETE_GRANTS, *_DELETE_TOKENS, *_DELETE_SURROUNDINGS):
        conn.execute(statement, {"p_before": before_ms})
    if idle_ms is not None:
        conn.execute(_IDLE_GRANTS, {"p_before": before_ms, "p_idle": idle_ms})
    return len(ids) + len(events)


def _prune_threads(conn: Connection, old: dict[str, int]) -> None:
    """Forget the threads of agents that ended, with what was posted there."""
    ended = conn.execute(_OLD_THREADS, old).all()
    if ended:
        messages = [key for row in ended for key in keys_of(row.key, row.parts)]
        if messages:
            conn.execute(_DELETE_MESSAGES, {"p_keys": messages})
        conn.execute(_DELETE_THREADS, {"p_keys": [row.key for row in ended]})

"""Fill a gateway's store with a long past and many questions, as copies of real rows."""

from sqlalchemy import Connection, text

_NUMBERS = """
WITH RECURSIVE numbers(n) AS (SELECT :first UNION ALL SELECT n + 1 FROM numbers WHERE n < :most)
"""
_ID = "printf('%06d', n) || '0000000000000000000' || :tag"
_COMMAND = """
CASE n % 5 WHEN 0 THEN 'git push origin feature-' || n WHEN 1 THEN 'npm install package-' || n
WHEN 2 THEN 'rm -r build/' || n WHEN 3 THEN 'python3 scripts/report.py --day ' || n
ELSE 'kubectl apply -f deploy-' || n || '.yaml' END
"""
_AGENT = "CASE WHEN n % 997 = 0 THEN 'rare' ELSE 'agent' || (n % 7) END"
_SESSION = f"'agent:' || {_AGENT} || ':' || (n / 50)"
_STATE = "CASE n % 4 WHEN 0 THEN 'denied' WHEN 1 THEN 'expired' ELSE 'allowed' END"
_AT = ":now - n * :step"
_PAST = (
    f"""{_NUMBERS} INSERT INTO approvals (id, code, state, agent, session, place, text, created_ms,
    deadline_ms, timeout_ms, quorum, digest)
    SELECT {_ID}, printf('%06d', n), {_STATE}, {_AGENT}, {_SESSION}, 'gateway', {_COMMAND},
    {_AT}, {_AT} + 60000, 60000, 1, 'd' || n FROM numbers""",  # noqa: S608 - constants above
    f"""{_NUMBERS} INSERT INTO decisions (approval_id, state, source, reply, reason, channel,
    account, name, note, at_ms, owed)
    SELECT {_ID}, {_STATE}, CASE n % 4 WHEN 1 THEN 'timeout' ELSE 'person' END,
    CASE n % 4 WHEN 0 THEN 'deny' WHEN 1 THEN NULL ELSE 'allow-once' END,
    CASE n % 4 WHEN 0 THEN 'approver_denied' WHEN 1 THEN 'approval_timeout' END,
    CASE WHEN n % 4 <> 1 THEN 'person' END, CASE WHEN n % 4 <> 1 THEN 'ana' END,
    CASE WHEN n % 4 <> 1 THEN 'Ana' END, '', {_AT} + 9000, 0 FROM numbers""",  # noqa: S608 - constants above
)
_UNASKED = f"""{_NUMBERS} INSERT INTO runs (id, asked, state, agent, session, place, text, noted,
    created_ms, started_ms, ended_ms, exit_code, result)
    SELECT {_ID}, 0, 'done', {_AGENT}, {_SESSION}, 'gateway', {_COMMAND}, 1,
    {_AT}, {_AT} + 5, {_AT} + 90, 0,
    json_object('duration_ms', 85, 'timed_out', json('false'), 'cancelled', json('false'))
    FROM numbers"""  # noqa: S608 - constants above
_WAITING = (
    f"""{_NUMBERS} INSERT INTO approvals (id, code, state, agent, session, place, text, created_ms,
    deadline_ms, timeout_ms, quorum, digest)
    SELECT {_ID}, printf('p%05d', n), state, agent, session, place, text, created_ms,
    deadline_ms + n, timeout_ms, quorum, digest || n
    FROM numbers, approvals WHERE id = :real""",  # noqa: S608 - constants above
    f"""{_NUMBERS} INSERT INTO questions (id, plan, evaluation, requester, reminders, local)
    SELECT {_ID}, plan, evaluation, requester, reminders, local
    FROM numbers, questions WHERE id = :real""",  # noqa: S608 - constants above
)
_LATER_MS = 3_600_000


def add_past(conn: Connection, first: int, most: int, now_ms: int) -> None:
    """Add past requests to a SQLite store: from ``first`` to ``most`` seconds before now.

    Each second has one that needed an answer and one that did not.
    """
    values = {"first": first, "most": most, "now": now_ms - _LATER_MS, "step": 1000}
    for statement in _PAST:
        conn.execute(text(statement), {**values, "tag": "a"})
    conn.execute(text(_UNASKED), {**values, "tag": "r", "now": values["now"] - 500})


def add_waiting(conn: Connection, count: int, real: str) -> None:
    """Add ``count`` questions like the pending approval ``real``, each due a little later."""
    for statement in _WAITING:
        conn.execute(text(statement), {"first": 1, "most": count, "real": real, "tag": "w"})

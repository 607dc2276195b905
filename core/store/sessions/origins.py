"""Remember the chat that a session came from."""

from sqlalchemy import Connection, bindparam, or_, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import SessionKey, Target
from core.store.engine.clock import now_ms
from core.store.schema.json_columns import dump, load
from core.store.schema.people_tables import session_settings

_FRESH_MS = 86_400_000
"""A session in use is noted once a day, so that retention knows it is alive."""

_new = insert(session_settings).values(
    session=bindparam("p_session"), origin=bindparam("p_origin"), at_ms=bindparam("p_now")
)
_REMEMBER = _new.on_conflict_do_update(
    index_elements=[session_settings.c.session],
    set_={"origin": _new.excluded.origin, "at_ms": _new.excluded.at_ms},
    where=or_(
        session_settings.c.origin.is_(None),
        session_settings.c.origin != _new.excluded.origin,
        session_settings.c.at_ms < _new.excluded.at_ms - _FRESH_MS,
    ),
)
_ORIGIN = select(session_settings.c.origin).where(
    session_settings.c.session == bindparam("p_session")
)


def remember_origin(conn: Connection, session: SessionKey, target: Target) -> None:
    """Remember the chat, account and thread that a session came from last.

    Only what came in over a chat may call it: it decides where the session's prompts go.
    """
    values = {"p_session": session, "p_origin": dump(target), "p_now": now_ms(conn)}
    conn.execute(_REMEMBER, values)


def origin_of(conn: Connection, session: SessionKey) -> Target | None:
    """Return the chat that a session came from last, ``None`` if it never came from one."""
    found = conn.execute(_ORIGIN, {"p_session": session}).scalar()
    return None if found is None else load(Target, found)

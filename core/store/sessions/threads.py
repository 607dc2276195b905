"""Remember the threads that were opened for sessions, one per session and place."""

from dataclasses import replace

from sqlalchemy import Connection, bindparam, select
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.identity import SessionKey, Target
from core.store.engine.clock import now_ms
from core.store.schema.json_columns import dump, load
from core.store.schema.people_tables import threads

_THREAD = select(threads.c.thread).where(
    threads.c.session == bindparam("p_session"), threads.c.place == bindparam("p_place")
)
_KEEP = (
    insert(threads)
    .values(
        session=bindparam("p_session"),
        place=bindparam("p_place"),
        thread=bindparam("p_thread"),
        at_ms=bindparam("p_now"),
    )
    .on_conflict_do_nothing()
)


def thread_of(conn: Connection, session: SessionKey, place: Target) -> Target | None:
    """Return the thread that was opened for a session in a place, ``None`` if there is none."""
    values = {"p_session": session, "p_place": _key(place)}
    found = conn.execute(_THREAD, values).scalar()
    return None if found is None else load(Target, found)


def keep_thread(conn: Connection, session: SessionKey, place: Target, thread: Target) -> Target:
    """Keep the thread that was opened for a session in a place; return the one that counts.

    The first one wins: a sender that opened a second one at the same moment uses the first.
    """
    values = {"p_session": session, "p_place": _key(place)}
    conn.execute(_KEEP, values | {"p_thread": dump(thread), "p_now": now_ms(conn)})
    return load(Target, conn.execute(_THREAD, values).scalar_one())


def _key(place: Target) -> str:
    return dump(replace(place, thread=""))

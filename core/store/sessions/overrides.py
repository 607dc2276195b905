"""Remember what people set for one session by ``/exec`` and ``/elevated`` (S0 "Slash commands")."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlalchemy import Connection, RowMapping, bindparam, select, update
from sqlalchemy.dialects.postgresql import insert  # its ON CONFLICT compiles for SQLite as well

from core.model.command import ExecOverrides
from core.model.identity import Actor, SessionKey
from core.store.engine import replicas
from core.store.engine.clock import now_ms
from core.store.engine.context import context_of
from core.store.engine.notifications import note
from core.store.schema.json_columns import dump, load, plain
from core.store.schema.people_tables import session_settings

CHANGED: Final = "session-settings"
"""The wake-up that says: what is set for some session has changed."""

_ROW = insert(session_settings).values(
    session=bindparam("p_session"),
    overrides=bindparam("p_overrides"),
    set_by=bindparam("p_by"),
    at_ms=bindparam("p_now"),
)
_SET = _ROW.on_conflict_do_update(
    index_elements=[session_settings.c.session],
    set_={name: _ROW.excluded[name] for name in ("overrides", "set_by", "at_ms")},
)
_CLEAR = (
    update(session_settings)
    .where(
        session_settings.c.session == bindparam("p_session"),
        session_settings.c.overrides.is_not(None),
    )
    .values(overrides=None, set_by=None, at_ms=bindparam("p_now"))
    .returning(session_settings.c.session)
)
_CLEAR_ALL = (
    update(session_settings)
    .where(session_settings.c.overrides.is_not(None))
    .values(overrides=None, set_by=None, at_ms=bindparam("p_now"))
)
_ALL = select(session_settings).where(session_settings.c.overrides.is_not(None))
_ONE = _ALL.where(session_settings.c.session == bindparam("p_session"))


@dataclass(frozen=True, slots=True)
class _Row(ExecOverrides):
    """The overrides of a session as they are stored."""

    before: ExecOverrides | None = None


@dataclass(frozen=True, slots=True)
class SessionOverrides:
    """What is set for a session, by whom and when (epoch ms).

    ``before`` is what ``/elevated off`` restores, ``None`` where the session is not elevated.
    """

    overrides: ExecOverrides
    by: Actor
    at_ms: int
    before: ExecOverrides | None


@dataclass(frozen=True, slots=True)
class AllOverrides:
    """What is set for each session; ``alone`` says that nobody else can be writing it."""

    alone: bool
    sessions: Mapping[SessionKey, SessionOverrides]


def put(
    conn: Connection,
    session: SessionKey,
    overrides: ExecOverrides,
    by: Actor,
    before: ExecOverrides | None = None,
) -> None:
    """Replace the overrides of a session, and what ``/elevated off`` restores for it."""
    person = replace(by, name=plain(by.name), groups=frozenset())
    row = {
        "p_session": session,
        "p_overrides": dump(_stored(overrides, before)),
        "p_by": dump(person),
        "p_now": now_ms(conn),
    }
    conn.execute(_SET, row)
    note(conn, CHANGED)


def _stored(now: ExecOverrides, before: ExecOverrides | None) -> _Row:
    return _Row(now.host, now.security, now.ask, now.node, before)


def clear(conn: Connection, session: SessionKey) -> bool:
    """Forget what was set for a session; ``False`` if nothing was."""
    found = conn.execute(_CLEAR, {"p_session": session, "p_now": now_ms(conn)}).first()
    note(conn, CHANGED)
    return found is not None


def begin(conn: Connection, owner: str) -> int:
    """Forget the overrides that earlier gateways were given, where ``owner`` is the only one alive.

    Returns how many sessions that were. What is set for a session lasts as long as the gateway
    does (S0 "non-persistent unless saved via config"); the first of several that starts decides.
    """
    if not context_of(conn).alone and set(replicas.alive(conn)) - {owner}:
        return 0
    forgotten = conn.execute(_CLEAR_ALL, {"p_now": now_ms(conn)}).rowcount
    if forgotten:
        note(conn, CHANGED)
    return forgotten


def get(conn: Connection, session: SessionKey) -> SessionOverrides | None:
    """Return what is set for a session."""
    row = conn.execute(_ONE, {"p_session": session}).mappings().first()
    return None if row is None else _overrides(row)


def every(conn: Connection) -> AllOverrides:
    """Return what is set for all sessions."""
    rows = conn.execute(_ALL).mappings().all()
    sessions = {SessionKey(row["session"]): _overrides(row) for row in rows}
    return AllOverrides(context_of(conn).alone, sessions)


def _overrides(row: RowMapping) -> SessionOverrides:
    stored = load(_Row, row["overrides"])
    return SessionOverrides(
        overrides=ExecOverrides(stored.host, stored.security, stored.ask, stored.node),
        by=load(Actor, row["set_by"]),
        at_ms=row["at_ms"],
        before=stored.before,
    )

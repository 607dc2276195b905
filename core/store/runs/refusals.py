"""Record a request that could not be planned, and notify its session; nothing ran."""

from dataclasses import dataclass

from sqlalchemy import Connection, insert

from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text
from core.model.identity import AgentId, ApprovalId, SessionKey
from core.store.engine.clock import now_ms
from core.store.engine.notifications import note_run
from core.store.schema.json_columns import plain
from core.store.schema.states import RowState
from core.store.schema.tables import runs
from core.store.sessions import events

_INSERT = insert(runs)


@dataclass(frozen=True, slots=True)
class RefusedRequest:
    """A request that was refused as it stood; ``text`` is what was asked, as a line."""

    id: ApprovalId
    agent: AgentId
    session: SessionKey
    place: str
    text: str
    reason: DenialReason
    why: str


def record_refused(conn: Connection, refused: RefusedRequest) -> None:
    """Keep a refusal under its id, and append ``Exec denied (…)`` to the session that asked."""
    now = now_ms(conn)
    row = {
        "id": refused.id,
        "asked": 0,
        "state": RowState.DENIED.value,
        "agent": refused.agent,
        "session": refused.session,
        "place": refused.place,
        "text": plain(refused.text),
        "noted": 0,
        "created_ms": now,
        "ended_ms": now,
        "reason": refused.reason.value,
        "why": plain(refused.why),
    }
    conn.execute(_INSERT, row)
    text = denied_text(refused.place, refused.id, f"{refused.reason.value}: {refused.why}")
    event = events.NewEvent(refused.session, EventKind.DENIED, text, refused.id)
    events.append(conn, [event], now)
    note_run(conn, refused.id)

"""Tell a session about a request that no plan could be made of: nothing was judged or run."""

from sqlalchemy import Connection

from core.model.decision import DenialReason
from core.model.events import EventKind, denied_text
from core.model.identity import ApprovalId, SessionKey
from core.store import events
from core.store.clock import now_ms


def record_refused(
    conn: Connection,
    run_id: ApprovalId,
    session: SessionKey,
    place: str,
    reason: DenialReason,
    why: str,
) -> None:
    """Append ``Exec denied (…)`` to the session that asked."""
    text = denied_text(place, run_id, f"{reason.value}: {why}")
    told = events.NewEvent(session, EventKind.DENIED, text, run_id)
    events.append(conn, [told], now_ms(conn))

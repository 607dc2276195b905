"""Define the answers of the methods about events, sessions and history."""

from bot.intake.callers.caller import Caller
from bot.intake.results.answer import Answer, Milliseconds, safe, safe_or_none
from bot.intake.results.outcomes import output
from core.approvals.messages import limits, past
from core.model.approval import ApprovalReply, ApprovalState
from core.model.events import EventKind, SessionEvent
from core.store.approvals import HistoryRow
from core.store.schema.states import DecisionSource, RowState
from core.store.views.owners import SessionRow
from core.text.cuts import CUT


class EventAnswer(Answer):
    """One event of a session."""

    seq: int
    kind: EventKind
    text: str
    id: str
    at_ms: Milliseconds

    @classmethod
    def of(cls, happened: SessionEvent, caller: Caller) -> "EventAnswer":
        """Return an event as this caller may read it."""
        return cls(
            seq=happened.seq,
            kind=happened.kind,
            text=_event_text(happened.text, caller),
            id=happened.run_id,
            at_ms=happened.at_ms,
        )


class EventsAnswer(Answer):
    """The events after the last acknowledged one, in order."""

    events: list[EventAnswer]


class AckedAnswer(Answer):
    """The number that is now acknowledged."""

    acked: int


class SessionAnswer(Answer):
    """One session: its key, the number and time of its last event, and the acknowledged number."""

    session: str
    last_seq: int
    acked_seq: int
    at_ms: Milliseconds | None

    @classmethod
    def of(cls, row: SessionRow) -> "SessionAnswer":
        """Return a session."""
        return cls(
            session=safe(row.session),
            last_seq=row.last_seq,
            acked_seq=row.acked_seq,
            at_ms=row.at_ms,
        )


class SessionsAnswer(Answer):
    """The sessions in the order of their keys."""

    sessions: list[SessionAnswer]


class HistoryRowAnswer(Answer):
    """One past request; ``how`` describes its status or how it ended."""

    id: str
    code: str
    at_ms: Milliseconds
    agent: str
    session: str
    task: str | None
    command: str
    source: DecisionSource | None
    state: RowState | ApprovalState
    by: str | None
    decision: ApprovalReply | None
    terms: str | None
    how: str
    exit_code: int | None
    signal: int | None
    timed_out: bool
    cancelled: bool
    duration_ms: int | None

    @classmethod
    def of(cls, row: HistoryRow) -> "HistoryRowAnswer":
        """Return one line of the history."""
        end = row.end
        return cls(
            id=row.id,
            code=row.code,
            at_ms=row.at_ms,
            agent=safe(row.agent),
            session=safe(row.session),
            task=safe_or_none(row.task),
            command=safe(row.text),
            source=row.source,
            state=row.state,
            by=row.by.ref if row.by is not None else None,
            decision=row.reply,
            terms=limits(row.terms) if row.terms is not None else None,
            how=past(row.state, end, row.reason),
            exit_code=end.exit_code if end is not None else None,
            signal=end.signal if end is not None else None,
            timed_out=end is not None and end.timed_out,
            cancelled=end is not None and end.cancelled,
            duration_ms=end.duration_ms if end is not None else None,
        )


class HistoryAnswer(Answer):
    """What was asked, newest first."""

    history: list[HistoryRowAnswer]
    looked_back_to_ms: Milliseconds | None = None


def _event_text(text: str, caller: Caller) -> str:
    """Return an event as this caller may read it; its first line is ours, what follows printed."""
    head, mark, tail = text.partition(f"\n{CUT}\n")
    if not mark or "\n" in head:
        return output(text, caller)
    return f"{head}{mark}{output(tail, caller, is_cut=True)}"

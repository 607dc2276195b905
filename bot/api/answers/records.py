"""Shape what REST answers about what was, for the OpenAPI document."""

from bot.api.answers.requests import Answer, Milliseconds
from core.model.approval import ApprovalState
from core.model.events import EventKind
from core.store.schema.states import DecisionSource, RowState


class EventAnswer(Answer):
    """One event of a session."""

    seq: int
    kind: EventKind
    text: str
    id: str
    at_ms: Milliseconds


class EventsAnswer(Answer):
    """Events above what was acknowledged, in order."""

    events: list[EventAnswer]


class AckedAnswer(Answer):
    """The number that is acknowledged now."""

    acked: int


class SessionAnswer(Answer):
    """One session."""

    session: str
    last_seq: int
    acked_seq: int
    at_ms: Milliseconds | None


class SessionsAnswer(Answer):
    """The sessions in the order of their keys."""

    sessions: list[SessionAnswer]


class HistoryRowAnswer(Answer):
    """One thing that was asked."""

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
    how: str
    exit_code: int | None
    signal: int | None
    timed_out: bool
    cancelled: bool
    duration_ms: int | None


class HistoryAnswer(Answer):
    """What was asked, the newest first."""

    history: list[HistoryRowAnswer]

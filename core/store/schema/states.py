"""Name the states that only the store writes."""

from enum import StrEnum


class RowState(StrEnum):
    """The status of a row of ``runs``; ``UNKNOWN``: its gateway died and nobody saw the end."""

    QUEUED = "queued"
    STARTED = "started"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    DENIED = "denied"


RUNNING_NOTED, START_NOTED = 1, 2
"""What a run's session knows, as a sum in ``runs.noted``: that it takes long, that it started."""
ALL_NOTED = RUNNING_NOTED + START_NOTED


class DecisionSource(StrEnum):
    """What decided: policy, a person, the deadline, the ask fallback, or the asker itself."""

    POLICY = "policy"
    PERSON = "person"
    TIMEOUT = "timeout"
    FALLBACK = "fallback"
    CANCEL = "cancel"


class OutboxKind(StrEnum):
    """What an outbox item does at its target; ``AGENT``: shows what an agent says so far."""

    PROMPT = "prompt"
    EDIT = "edit"
    REMINDER = "reminder"
    NOTICE = "notice"
    AGENT = "agent"


class OutboxState(StrEnum):
    """The status of an outbox item.

    ``READY`` and ``SENDING`` (claimed until its ``due_ms``) are open. ``SENT`` is accepted by the
    platform; a prompt moves on to ``STALE`` when its approval ends, and to ``CLOSED`` when its edit
    is done. ``UNCERTAIN`` may have been sent and is not repeated. ``DROPPED`` was
    given up or had become pointless.
    """

    READY = "ready"
    SENDING = "sending"
    SENT = "sent"
    STALE = "stale"
    CLOSED = "closed"
    UNCERTAIN = "uncertain"
    DROPPED = "dropped"

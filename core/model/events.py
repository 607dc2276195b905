"""Format what an agent's session receives (S0 "Event text", S1 "System events")."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.identity import ApprovalId, SessionKey


class EventKind(StrEnum):
    """The kinds of session events."""

    STARTED = "exec.started"
    RUNNING = "exec.running"
    FINISHED = "exec.finished"
    DENIED = "exec.denied"
    MESSAGE = "agent.message"


@dataclass(frozen=True, slots=True)
class SessionEvent:
    """One numbered line for a session: ``seq`` from 1 without a gap, ``at_ms`` epoch ms."""

    session: SessionKey
    seq: int
    kind: EventKind
    text: str
    run_id: ApprovalId
    at_ms: int


def started_text(place: str, run_id: str) -> str:
    """Format the start of a run; ``place`` is a node id, ``gateway`` or ``sandbox``."""
    return f"Exec started (node={place}, id={run_id})"


def running_text(place: str, run_id: str, seconds: int) -> str:
    """Format the notice of a run that passed the notice threshold."""
    return f"Exec running (node={place}, id={run_id}, {seconds}s)"


def finished_text(place: str, run_id: str, code: str, tail: str) -> str:
    """Format the end of a run; ``code`` is an exit code, ``signal N`` or ``unknown``.

    Anything else that ended it follows the code: its time limit, somebody who cancelled it, drift.
    """
    head = f"Exec finished (node={place}, id={run_id}, code={code})"
    return f"{head}\n{tail}" if tail else head


def denied_text(place: str, run_id: str, reason: str) -> str:
    """Format a refusal; ``reason`` is a ``DenialReason``, with the person's words where given."""
    return f"Exec denied (node={place}, id={run_id}, {reason})"

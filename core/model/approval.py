"""Describe an approval from the question to the answer."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.command import ExecPlan
from core.model.decision import Evaluation
from core.model.identity import CODE_LENGTH, Actor, ApprovalId, Requester, Target


class ApprovalReply(StrEnum):
    """What a person may answer."""

    ALLOW_ONCE = "allow-once"
    ALLOW_ALWAYS = "allow-always"
    DENY = "deny"


class ApprovalState(StrEnum):
    """Where an approval stands; all but ``PENDING`` are final."""

    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Resolution:
    """How an approval ended: state, verdict, who, by which surface, when (epoch ms), why."""

    state: ApprovalState
    reply: ApprovalReply | None
    by: Actor | None
    at_ms: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to people, bound to one plan. Times are epoch ms on the database's clock."""

    id: ApprovalId
    plan: ExecPlan
    evaluation: Evaluation
    requester: Requester
    origin: Target | None
    created_ms: int
    deadline_ms: int
    resolution: Resolution | None = None

    @property
    def code(self) -> str:
        """Return the short code that people type: the id's first characters, upper-case."""
        return self.id[:CODE_LENGTH].upper()


@dataclass(frozen=True, slots=True)
class AllowlistEntry:
    """A pattern that lets a program run for one agent (S1 "Allowlist (per agent)")."""

    pattern: str
    id: str | None = None


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """One copy of a prompt that a platform accepted."""

    target: Target
    message: str

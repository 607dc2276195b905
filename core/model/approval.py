"""Describe an approval from the question to the answer."""

from dataclasses import dataclass
from enum import StrEnum

from core.model.command import ExecPlan
from core.model.decision import Content, DenialReason, Evaluation, Promise
from core.model.identity import Actor, ApprovalId, PersonId, Requester, Target, code_of


class ApprovalReply(StrEnum):
    """What a person may answer."""

    ALLOW_ONCE = "allow-once"
    ALLOW_ALWAYS = "allow-always"
    DENY = "deny"


class ApprovalState(StrEnum):
    """The status of an approval; all but ``PENDING`` are final."""

    PENDING = "pending"
    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class GrantTerms:
    """How far an allow-always goes; without any limit it is an entry of the approvals file (S1).

    ``for_ms`` ends it by time, ``uses`` by count; ``session_only`` binds it to the session that
    asked, ``task_only`` to the task that the request named. Limits combine: the first one that is
    reached ends the grant.
    """

    for_ms: int | None = None
    uses: int | None = None
    session_only: bool = False
    task_only: bool = False


HALF_HOUR = GrantTerms(for_ms=1_800_000)
THIS_SESSION = GrantTerms(session_only=True)
THIS_TASK = GrantTerms(task_only=True)


@dataclass(frozen=True, slots=True)
class Vote:
    """One person's allow where several people must agree; ``terms`` as in ``Resolution``."""

    person: PersonId
    by: Actor
    reply: ApprovalReply
    at_ms: int
    terms: GrantTerms | None = None


@dataclass(frozen=True, slots=True)
class Resolution:
    """How an approval ended: state, verdict, who, by which surface, when (epoch ms), why.

    ``terms`` limit an allow-always; ``None`` where it has no limit or is none. ``reason`` is why
    nothing may run; ``None`` where it may.
    """

    state: ApprovalState
    reply: ApprovalReply | None
    by: Actor | None
    at_ms: int
    note: str = ""
    terms: GrantTerms | None = None
    reason: DenialReason | None = None


@dataclass(frozen=True, slots=True)
class Approval:
    """One question to people, bound to one plan. Times are epoch ms on the database's clock.

    ``quorum`` people must allow it; ``votes`` are those who have so far. ``delivered_ms`` is when
    the first copy was confirmed (the time to answer starts there), ``None`` before. ``behind`` is
    the identical question that is asked first; this one is asked when that one has ended.
    ``asked`` counts the pending requests that are identical, this one included. ``step_up``: only
    a typed answer allows it, no button.
    """

    id: ApprovalId
    plan: ExecPlan
    evaluation: Evaluation
    requester: Requester
    origin: Target | None
    created_ms: int
    deadline_ms: int
    resolution: Resolution | None = None
    quorum: int = 1
    votes: tuple[Vote, ...] = ()
    delivered_ms: int | None = None
    behind: ApprovalId | None = None
    asked: int = 1
    step_up: bool = False

    @property
    def code(self) -> str:
        """Return the short code that people type: the id's first characters, upper-case."""
        return code_of(self.id)


@dataclass(frozen=True, slots=True)
class AllowlistEntry:
    """A pattern that lets a program run for one agent (S1 "Allowlist (per agent)").

    ``argv`` narrows it to exactly these arguments, templates allowed.
    ``content`` narrows it to code files as they were, as in ``Promise``.
    """

    pattern: str
    id: str | None = None
    argv: tuple[str, ...] | None = None
    content: Content | None = None

    @property
    def words(self) -> str:
        """Return the entry as a promise says it."""
        if self.argv is None and self.content is None:
            return self.pattern
        return Promise(self.pattern, self.argv, self.content).words

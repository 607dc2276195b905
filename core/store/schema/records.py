"""Carry what callers hand to the store and what it answers."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from core.model.approval import Approval, ApprovalReply, ApprovalState, GrantTerms
from core.model.command import ExecPlan
from core.model.decision import DenialReason, Evaluation
from core.model.identity import Actor, AgentId, ApprovalId, Requester, SessionKey, Target, TaskId
from core.model.result import ExecResult, Finished
from core.store.schema.states import DecisionSource, OutboxKind, RowState


class CodeTaken(Exception):
    """Another approval has this short code (or id). Draw a new id and create again."""


@dataclass(frozen=True, slots=True)
class PromptDraft:
    """One copy of a prompt to send: where, and the JSON text that the channel renders.

    It is sent ``after_ms`` after the question's clock started; ``step`` is its step of the
    escalation ladder, 0 the first.
    """

    target: Target
    payload: str
    step: int = 0
    after_ms: int = 0


@dataclass(frozen=True, slots=True)
class ApprovalDraft:
    """A question to ask.

    People have ``timeout_ms`` to answer. That time starts at the first confirmed delivery of a
    prompt, or at the commit where there is no prompt; before it, ``timeout_ms`` is the limit for a
    delivery at all. ``reminders`` are ms after that start, ascending. ``local``: somebody who needs
    no prompt may answer, so that undelivered prompts do not end the question early. ``request_key``
    must be scoped to the requester by the caller; ``request_digest`` is of what was asked under it
    (``idempotency.request_digest``). ``step_up``: only typed answers allow it.
    """

    id: ApprovalId
    plan: ExecPlan
    evaluation: Evaluation
    requester: Requester
    origin: Target | None
    timeout_ms: int
    reminders: tuple[int, ...] = ()
    request_key: str | None = None
    prompts: tuple[PromptDraft, ...] = ()
    quorum: int = 1
    local: bool = False
    request_digest: str | None = None
    step_up: bool = False


@dataclass(frozen=True, slots=True)
class Created:
    """The approval that answers a draft; ``fresh`` is false where the request was known."""

    approval: Approval
    fresh: bool


class AnswerRefusal(StrEnum):
    """Why an answer was not taken, as the directory of people stood in its transaction."""

    REVOKED = "revoked"
    REQUESTER = "requester"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What became of a person's reply.

    ``won``: this reply ended the approval. A reply after the deadline never wins; it ends the
    approval as expired, if nothing has (``late``). ``repeated``: the same inbound message was
    answered before, and ``won`` and ``counted`` are what it was answered then. ``counted``: it is
    one of several allows that are needed. ``refused``: it was not taken at all. ``approval`` always
    has the true state. ``edits`` show what it decided; the caller sends them, and nobody else does.
    """

    won: bool
    repeated: bool
    approval: Approval
    counted: bool = False
    refused: AnswerRefusal | None = None
    edits: tuple["OutboxItem", ...] = ()
    late: bool = False

    @property
    def ended_it(self) -> bool:
        """Return whether the approval ended in this transaction."""
        return self.late or (self.won and not self.repeated)

    @property
    def is_vote(self) -> bool:
        """Return whether it was counted in this transaction."""
        return self.counted and not self.repeated


@dataclass(frozen=True, slots=True)
class EndState:
    """The true state of an approval that was to end; ``now``: it ended in this transaction."""

    approval: Approval
    now: bool


@dataclass(frozen=True, slots=True)
class Expired:
    """What expired in one transaction, at its time (epoch ms), and why nothing ran for each."""

    at_ms: int
    reasons: Mapping[ApprovalId, DenialReason]


@dataclass(frozen=True, slots=True)
class RunDraft:
    """A run that needs no approval, or that policy refused. ``owner`` is the gateway's boot id.

    ``request_key`` and ``request_digest`` are as of ``ApprovalDraft``.
    """

    id: ApprovalId
    plan: ExecPlan
    requester: Requester
    owner: str
    request_key: str | None = None
    request_digest: str | None = None


@dataclass(frozen=True, slots=True)
class OrphanedRun:
    """A run whose gateway died: what is needed to find and end its processes.

    All but ``id`` are ``None`` where the gateway died between the claim and the spawn.
    """

    id: ApprovalId
    pid: int | None
    pgid: int | None
    start_ticks: int | None
    boot_id: str | None


@dataclass(frozen=True, slots=True)
class ShownApproval:
    """One approval that a message shows, and how its request ended, where it has."""

    approval: Approval
    outcome: ExecResult | None


@dataclass(frozen=True, slots=True)
class OutboxItem:
    """One claimed piece of work for a channel.

    ``message`` is the platform's id of the copy to edit or to remind under. ``uncertain``: an
    earlier attempt may have arrived. An edit's payload is its prompt's; what it must show is the
    approval's true state at the time of sending, which is ``shows`` where that was just read.
    """

    id: int
    approval_id: ApprovalId | None
    target: Target
    kind: OutboxKind
    payload: str
    attempts: int
    message: str | None
    uncertain: bool = False
    shows: tuple[ShownApproval, ...] = ()


@dataclass(frozen=True, slots=True)
class HistoryRow:
    """One line of the history; ``state`` is the run's where one exists, else the approval's.

    ``end`` is how the run ended, where it did; what it printed is left out.
    """

    id: ApprovalId
    code: str
    at_ms: int
    agent: AgentId
    session: SessionKey
    place: str
    text: str
    source: DecisionSource | None
    by: Actor | None
    reply: ApprovalReply | None
    reason: DenialReason | None
    state: RowState | ApprovalState
    end: Finished | None
    task: TaskId | None = None
    terms: GrantTerms | None = None

"""Define what a tool call is and how it is answered; every refusal is a result."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from core.model.decision import DenialReason
from core.model.identity import AgentId, ApprovalId, Requester, SessionKey, TaskId


class ToolError(StrEnum):
    """Why a call has no result; the first four of S3, the last two of Sayso's own line."""

    PERMISSION_DENIED = "permission_denied"
    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGS = "invalid_args"
    FS_DENIED = "fs_denied"
    DENIED = "denied"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call: ``args`` are as they came, of any type; the requester is taken from the connection.

    ``begun`` is called with the id of the run or question that it leads to, as in ``Gate.submit``.
    ``wait``: the answer to a question is waited for; without it the question's id is returned (S1).
    """

    tool: str
    args: Mapping[str, object]
    requester: Requester
    agent: AgentId
    session: SessionKey
    begun: Callable[[ApprovalId], None] | None = field(default=None, compare=False, repr=False)
    task: TaskId | None = None
    wait: bool = False


@dataclass(frozen=True, slots=True)
class ToolDone:
    """The tool did its work. ``run_id`` names the run, where there was one."""

    result: Mapping[str, object]
    run_id: ApprovalId | None = None


@dataclass(frozen=True, slots=True)
class ToolRefused:
    """It did not. ``message`` is for the agent; ``reason`` is set where policy or people said no.

    The message may name what was asked for, so it is redacted before anybody else sees it.
    """

    error: ToolError
    message: str
    reason: DenialReason | None = None
    run_id: ApprovalId | None = None


@dataclass(frozen=True, slots=True)
class ToolPending:
    """People are asked until ``deadline_ms`` (epoch ms); the session's events say how it ends."""

    run_id: ApprovalId
    code: str
    deadline_ms: int


ToolAnswer = ToolDone | ToolPending | ToolRefused


@dataclass(frozen=True, slots=True)
class Ready:
    """A call with valid arguments: what the journal records of them, and the work itself.

    ``record`` is redacted already.
    """

    record: Mapping[str, object]
    work: Callable[[], Awaitable[ToolAnswer]]


class Tool(Protocol):
    """What an agent can call by name."""

    @property
    def name(self) -> str:
        """Return the name, as capabilities grant it."""

    def read(self, call: ToolCall) -> Ready | ToolRefused:
        """Check the arguments of a call; nothing is done yet."""

"""Shape what REST answers, for the OpenAPI document; a test holds every real answer against it.

The words are those of the methods (``bot.intake.results``); nothing is converted on the way.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic.alias_generators import to_camel

from bot.api.http.errors import FaultCode
from core.approvals.answer import AnswerOutcome
from core.model.approval import ApprovalReply, ApprovalState
from core.model.decision import DenialReason
from core.model.policy import ExecHost
from core.model.result import StreamName

Milliseconds = Annotated[int, Field(description="epoch ms")]


class Answer(BaseModel):
    """Base of all answers; a key that is not declared is never sent."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)


class Fault(Answer):
    """Why a request was not served."""

    code: FaultCode
    message: str
    hint: str


class FaultAnswer(Answer):
    """The one shape of every error."""

    error: Fault


class StreamAnswer(Answer):
    """A stream that was kept apart: its first bytes in base64."""

    data: str
    total_bytes: int
    truncated: bool


class FinishedAnswer(Answer):
    """A command ran to its end."""

    status: Literal["finished"]
    id: str
    how: str
    exit_code: int | None
    signal: int | None
    timed_out: bool
    cancelled: bool
    duration_ms: int
    output: str
    truncated: bool
    total_bytes: int
    tail: str | None = None
    stdout: StreamAnswer | None = None
    stderr: StreamAnswer | None = None
    findings: list[str] | None = None


class DeniedAnswer(Answer):
    """Nothing ran; a denial is a result, not an error."""

    status: Literal["denied"]
    id: str
    reason: DenialReason
    why: str


class PendingAnswer(Answer):
    """People are being asked."""

    status: Literal["pending"]
    id: str
    code: str
    deadline_ms: Milliseconds


class RunningAnswer(Answer):
    """It was allowed and has not ended."""

    status: Literal["running"]
    id: str


class UnknownAnswer(Answer):
    """The gateway died while it ran; it is not run again."""

    status: Literal["unknown"]
    id: str


class RequestAnswer(
    RootModel[
        Annotated[
            FinishedAnswer | DeniedAnswer | PendingAnswer | RunningAnswer | UnknownAnswer,
            Field(discriminator="status"),
        ]
    ]
):
    """The status of a request."""


class CancelledAnswer(Answer):
    """The question was withdrawn, or the command is being stopped."""

    cancelled: Literal[True]
    id: str
    sentence: str


class TailAnswer(Answer):
    """What a command printed last; ``how`` it ended, where it did."""

    running: bool
    text: str
    total_bytes: int
    how: str | None


class OutputFrame(Answer):
    """What a run printed next; `data` are the very bytes in base64, for its own agent only.

    What is read from the store after the run's end has no `data`.
    """

    stream: StreamName
    text: str
    data: str | None = None


class OutputAnswer(RootModel[OutputFrame | RequestAnswer]):
    """One event of a run's stream: `output`, and at last `end` with the status of the request."""


class ApprovalAnswer(Answer):
    """A question to people, and how it ended."""

    id: str
    code: str
    command: str
    cwd: str
    agent: str
    session: str
    task: str | None
    host: ExecHost
    why: str
    promise: list[str]
    created_ms: Milliseconds
    deadline_ms: Milliseconds
    state: ApprovalState
    decision: ApprovalReply | None
    by: str | None
    at_ms: Milliseconds | None
    note: str
    terms: str | None
    quorum: int
    votes: list[str]
    behind: str | None


class ApprovalsAnswer(Answer):
    """What is waiting for approval."""

    pending: list[ApprovalAnswer]


class ResolvedAnswer(Answer):
    """An answer that counted."""

    accepted: Literal[True]
    outcome: AnswerOutcome
    sentence: str
    id: str | None


class CopyAnswer(Answer):
    """One copy of a prompt."""

    channel: str
    to: str
    thread: str
    step: int
    state: str
    why: str


class CopiesAnswer(Answer):
    """The status of each copy of a prompt."""

    copies: list[CopyAnswer]

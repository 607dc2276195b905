"""Format the status of a run and how it ended, with its output.

Output of a command is returned to the agent that ran it, and to this machine, unchanged: it is the
agent's own. All others who read it over the network get it redacted.
"""

import base64
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field, RootModel

from bot.intake.callers.caller import Caller
from bot.intake.results.answer import Answer, Json, Milliseconds, safe
from core.approvals.messages import past, ran
from core.errors import StoreError
from core.gate.gate import Gate
from core.model.command import ExecRequest
from core.model.decision import DenialReason
from core.model.identity import ApprovalId, code_of
from core.model.result import (
    Denied,
    Finished,
    LiveOutput,
    Output,
    Pending,
    Running,
    Stream,
    StreamName,
    Submission,
    Unknown,
)
from core.store import approvals
from core.text.cuts import after_cut, before_cut
from core.text.render import printed

_MOST_PRINTED = 1_000_000


class StreamAnswer(Answer):
    """A stream captured separately: its first bytes in base64, and how many there were."""

    data: str
    total_bytes: int
    truncated: bool

    @classmethod
    def of(cls, one: Stream) -> "StreamAnswer":
        """Return a stream."""
        data = base64.b64encode(one.data).decode("ascii")
        return cls(data=data, total_bytes=one.total_bytes, truncated=one.truncated)


class StatusAnswer(Answer):
    """The status of a request."""

    ignored: list[str] | None = Field(
        default=None, description="a sentence for each setting of the request that has no effect"
    )
    answers: list[str] | None = Field(
        default=None,
        description="where it can be answered besides the chats, for local programs only",
    )


class FinishedAnswer(StatusAnswer):
    """The command ran to its end."""

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
    token_usage: dict[str, int] | None = Field(
        default=None,
        alias="token_usage",
        description="of a prompt: what the agent says that its model used, by its own names",
    )
    reason: DenialReason | None = None
    why: str | None = None


class DeniedAnswer(StatusAnswer):
    """Nothing was run; a denial is a result, not an error."""

    status: Literal["denied"]
    id: str
    reason: DenialReason
    why: str


class PendingAnswer(StatusAnswer):
    """People are being asked."""

    status: Literal["pending"]
    id: str
    code: str
    deadline_ms: Milliseconds


class RunningAnswer(StatusAnswer):
    """It was allowed and has not ended; for a prompt, ``task_id`` repeats the id."""

    status: Literal["running"]
    id: str
    task_id: str | None = Field(
        default=None, alias="task_id", description="for a prompt: its id again"
    )


class UnknownAnswer(StatusAnswer):
    """The gateway died while it ran; it is not run again."""

    status: Literal["unknown"]
    id: str


AnyStatus = FinishedAnswer | DeniedAnswer | PendingAnswer | RunningAnswer | UnknownAnswer


class RequestAnswer(RootModel[Annotated[AnyStatus, Field(discriminator="status")]]):
    """The status of a request or, once it has ended, how it ended."""


class OutputFrame(Answer):
    """The next output of a run; `data` are the exact bytes in base64, for its own agent only.

    What is read from the store after the run's end has no `data`.
    """

    stream: StreamName
    text: str
    data: str | None = None


class OutputAnswer(RootModel[OutputFrame | RequestAnswer]):
    """One event of a run's stream: `output`, and finally `end` with the status of the request."""


class TailAnswer(Answer):
    """What a command printed last, and ``how`` it ended, if it did."""

    running: bool
    text: str
    total_bytes: int
    how: str | None

    @classmethod
    def live(cls, found: LiveOutput, caller: Caller) -> "TailAnswer":
        """Return what a running command printed last."""
        text = output(found.text, caller, is_cut=found.is_cut)
        return cls(running=True, text=text, total_bytes=found.total_bytes, how=None)

    @classmethod
    def stored(cls, status: Submission, caller: Caller) -> "TailAnswer":
        """Return what is stored of a command's output, and how it ended, if it did."""
        text, total, how = "", 0, None
        match status:
            case Finished(output=kept):
                text = output(kept.tail, caller, is_cut=kept.is_tail_cut)
                total, how = kept.total_bytes, ran(status)
            case Denied(reason=reason):
                how = past("denied", None, reason)
            case Unknown():
                how = "unknown"
            case _:
                pass
        return cls(running=isinstance(status, Running), text=text, total_bytes=total, how=how)


class CancelledAnswer(Answer):
    """Whether the approval was cancelled or the command is being stopped, in a sentence."""

    cancelled: bool
    id: str
    sentence: str

    @classmethod
    def of(cls, status: Submission, *, done: bool) -> "CancelledAnswer":
        """Return whether something was ended, and what; ``status`` is the one before."""
        code = code_of(status.run_id)
        match status:
            case Pending():
                words = f"{code} is cancelled; the command will not run."
            case Finished():
                words = f"{code} has ended already: {ran(status)}."
            case Denied(reason=reason):
                words = f"{code} did not run ({reason}): there is nothing to cancel."
            case Unknown():
                words = f"{code} ended when its gateway died; the exit status is unknown."
            case _:
                words = f"{code} is being stopped."
        if not done and isinstance(status, Pending | Running):
            words = (
                f"{code} was not cancelled: it is being answered or started right now. Try again."
            )
        return cls(cancelled=done, id=status.run_id, sentence=words)


def submission(answer: Submission, caller: Caller, **more: list[str] | None) -> AnyStatus:
    """Return the status of a request; ``more`` are keys of ``StatusAnswer``."""
    match answer:
        case Finished():
            return FinishedAnswer.model_validate({**_finished(answer, caller), **more})
        case Denied(run_id=run_id, reason=reason, why=why):
            return DeniedAnswer(status="denied", id=run_id, reason=reason, why=safe(why), **more)
        case Pending(run_id=run_id, code=code, deadline_ms=deadline):
            return PendingAnswer(
                status="pending", id=run_id, code=code, deadline_ms=deadline, **more
            )
        case Running(run_id=run_id):
            return RunningAnswer.model_validate({"status": "running", "id": run_id, **more})
        case Unknown(run_id=run_id):
            return UnknownAnswer(status="unknown", id=run_id, **more)


def output(text: str, caller: Caller, *, is_cut: bool = False) -> str:
    """Return what a command printed, as this caller may read it, with its final newlines.

    ``is_cut``: its beginning is missing.
    """
    if reads_output(caller):
        return text
    text = after_cut(text) if is_cut else text
    return printed(text, _MOST_PRINTED).text + text[len(text.rstrip("\n")) :]


def _beginning(kept: Output, caller: Caller) -> str:
    whole = reads_output(caller) or not kept.truncated
    return output(kept.text if whole else before_cut(kept.text), caller)


def reads_output(caller: Caller) -> bool:
    """Return whether a caller may read the exact bytes that commands print."""
    return caller.peer is not None or caller.agents is not None


def _finished(result: Finished, caller: Caller) -> Json:
    """Return the keys of ``FinishedAnswer`` for a result."""
    found: Json = {
        "status": "finished",
        "id": result.run_id,
        "how": ran(result),
        "exit_code": result.exit_code,
        "signal": result.signal,
        "timed_out": result.timed_out,
        "cancelled": result.cancelled,
        "duration_ms": result.duration_ms,
        "output": _beginning(result.output, caller),
        "truncated": result.output.truncated,
        "total_bytes": result.output.total_bytes,
    }
    if result.drift:
        found |= {"reason": DenialReason.PLAN_DRIFT, "why": safe(result.drift)}
    if result.findings:
        found["findings"] = [safe(one) for one in result.findings]
    if result.token_usage:
        found["token_usage"] = dict(result.token_usage)
    if result.output.truncated:
        found["tail"] = output(result.output.tail, caller, is_cut=result.output.is_tail_cut)
    if result.streams is not None and reads_output(caller):
        found["stdout"] = StreamAnswer.of(result.streams.stdout)
        found["stderr"] = StreamAnswer.of(result.streams.stderr)
    return found


async def status_of(
    gate: Gate, answer: Submission, caller: Caller, ignored: Sequence[str] = ()
) -> AnyStatus:
    """Return the status of a request or how it ended; ``answers`` is for local programs only."""
    more: dict[str, list[str] | None] = {"ignored": [*ignored]} if ignored else {}
    if isinstance(answer, Pending) and caller.peer is not None:
        more["answers"] = await _answers(gate, answer.run_id)
    return submission(answer, caller, **more)


async def without_effect(gate: Gate, request: ExecRequest) -> Sequence[str]:
    """Return a sentence for each setting of a call that has no effect."""
    return [safe(one) for one in await gate.ignored(request)]


async def _answers(gate: Gate, run_id: ApprovalId) -> list[str] | None:
    """Return where it can be answered in addition to the chats asked; ``None`` if unknown."""
    try:
        question = await gate.store.read(approvals.get, run_id)
    except StoreError:
        return None
    if question is None:
        return None
    return gate.broker.asking.unprompted(question.requester.intake, question.plan.agent)

"""Read and write one frame of exec-approvals.sock: one JSON object per line, strictly read."""

import json
from collections.abc import Callable
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter
from pydantic.alias_generators import to_camel

from core.errors import BadRequest
from core.ipc.errors import FrameError
from core.ipc.strict_json import parsed, read_object
from core.ipc.strict_model import StrictFrame, read_model
from core.model.approval import ApprovalReply
from core.model.command import ExecPlan
from core.model.decision import AllowedBy, DenialReason
from core.model.result import Finished

VERSION: Literal[1] = 1
MAX_FRAME = 256_000
"""Bytes of a frame, its line feed included."""
MAX_RESULT = 4 << 20
"""Bytes of the one frame that may be longer: ``result``."""
TTL_MS = 10_000
"""How long a challenge can be answered, and how far the two clocks may differ."""

_Hex16 = Annotated[str, Field(pattern=r"^[0-9a-f]{32}\z")]
_Hex32 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\z")]
_Id = Annotated[str, Field(pattern=r"^[0-9a-z]{26}\z")]
_Code = Annotated[str, Field(pattern=r"^[0-9A-Z]{6}\z")]
_Ms = Annotated[int, Field(ge=0, lt=1 << 53)]
_Short = Annotated[str, Field(max_length=4_096)]


class CannotRead(BadRequest):
    """A frame is not what the protocol says; the message names what is wrong with it."""


class Refusal(StrEnum):
    """Why a companion refuses a connection or its request."""

    BAD_FRAME = "bad_frame"
    TOO_LARGE = "too_large"
    TIMED_OUT = "timed_out"
    STALE = "stale"
    UNAUTHENTICATED = "unauthenticated"
    RATE_LIMITED = "rate_limited"
    BUSY = "busy"
    NO_RUNS = "no_runs"
    ALREADY_SHOWN = "already_shown"


class _Frame(StrictFrame):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Challenge(_Frame):
    """The first frame of every connection, from the companion. ``ts`` is epoch ms."""

    type: Literal["challenge"] = "challenge"
    version: Literal[1] = VERSION
    nonce: _Hex16
    ts: _Ms
    ttl_ms: _Ms = TTL_MS
    max_bytes: _Ms = MAX_FRAME


class Request(_Frame):
    """The one request of a connection; ``request_json`` is signed as the bytes that it is."""

    type: Literal["request"] = "request"
    version: Literal[1] = VERSION
    nonce: _Hex16
    ts: _Ms
    hmac: _Hex32
    request_json: str


class Ready(_Frame):
    """The listener knows the token."""

    type: Literal["ready"] = "ready"
    hmac: _Hex32


class Shown(_Frame):
    """The dialog is open."""

    type: Literal["shown"] = "shown"
    id: _Id
    hmac: _Hex32


class AnswerFrame(_Frame):
    """What the person pressed, signed together with the digest of the plan that was shown."""

    type: Literal["answer"] = "answer"
    id: _Id
    decision: Annotated[ApprovalReply, Field(strict=False)]
    hmac: _Hex32


class Refused(_Frame):
    """Why there is no dialog; the connection ends."""

    type: Literal["refused"] = "refused"
    reason: Annotated[Refusal, Field(strict=False)]
    words: _Short


class ReplyFrame(_Frame):
    """What became of an answer: whether it counted, and the sentence for the person."""

    type: Literal["reply"] = "reply"
    id: _Id
    accepted: bool
    words: _Short


class Ended(_Frame):
    """The question has ended, here or elsewhere; the dialog closes."""

    type: Literal["ended"] = "ended"
    id: _Id
    words: _Short


class Taken(_Frame):
    """A run is noted on the companion's disk, and starts now."""

    type: Literal["taken"] = "taken"
    id: _Id
    hmac: _Hex32


class Result(_Frame):
    """How a run ended; ``result_json`` is signed as the bytes that it is. The connection ends."""

    type: Literal["result"] = "result"
    id: _Id
    result_json: str
    hmac: _Hex32


class Cancel(_Frame):
    """The gateway: end the run."""

    type: Literal["cancel"] = "cancel"
    id: _Id


class Ran(_Frame):
    """What a result holds: the command ran, or nobody saw its end."""

    kind: Literal["ran"] = "ran"
    result: Finished


class NotRun(_Frame):
    """What a result holds: nothing ran, and why."""

    kind: Literal["not_run"] = "not_run"
    reason: Annotated[DenialReason, Field(strict=False)]
    why: _Short


class RunOrder(_Frame):
    """The order to run a bound plan in the companion's context (S0), and who allowed it."""

    kind: Literal["run"] = "run"
    id: _Id
    digest: _Hex32
    by: Annotated[AllowedBy, Field(strict=False)]
    plan: ExecPlan


class Line(_Frame):
    """One labelled line of a dialog."""

    label: _Short
    value: str


class Question(_Frame):
    """What a dialog shows (S1 "The confirmation dialog includes"); texts are masked and escaped.

    ``front`` and ``details`` are the lines of a prompt in a chat, ``answers`` what may be pressed.
    ``digest`` is the bound plan's; ``deadline_ms`` is epoch ms, ``left_ms`` the time until then.
    """

    kind: Literal["ask"] = "ask"
    id: _Id
    code: _Code
    command: str
    whole: bool
    warning: str = ""
    cwd: str
    agent: str
    session: str
    host: str
    security: _Short
    ask: _Short
    resolved: Annotated[tuple[str, ...], Field(strict=False)]
    reasons: str
    front: Annotated[tuple[Line, ...], Field(strict=False)]
    details: Annotated[tuple[Line, ...], Field(strict=False)]
    answers: Annotated[
        tuple[Annotated[ApprovalReply, Field(strict=False)], ...], Field(strict=False, min_length=1)
    ]
    digest: _Hex32
    deadline_ms: _Ms
    left_ms: _Ms


class Hello(_Frame):
    """The question whether a companion is there."""

    kind: Literal["hello"] = "hello"


Asked = Hello | Question | RunOrder
"""What a request may carry."""
FromServer = Shown | Ready | Refused | AnswerFrame | Taken | Result
"""What a companion sends after its challenge."""
_ASKED: TypeAdapter[Asked] = TypeAdapter(Annotated[Asked, Field(discriminator="kind")])
_OUTCOME: TypeAdapter[Ran | NotRun] = TypeAdapter(
    Annotated[Ran | NotRun, Field(discriminator="kind")]
)
_FROM_SERVER: TypeAdapter[FromServer] = TypeAdapter(
    Annotated[FromServer, Field(discriminator="type")]
)
_FROM_CLIENT: TypeAdapter[ReplyFrame | Ended] = TypeAdapter(
    Annotated[ReplyFrame | Ended, Field(discriminator="type")]
)


def line_of(frame: _Frame) -> bytes:
    """Return a frame as it is sent, its line feed included.

    Raises:
        BadRequest: it is longer than a frame may be.
    """
    text = text_of(frame).encode() + b"\n"
    longest = MAX_RESULT if isinstance(frame, Result) else MAX_FRAME
    if len(text) > longest:
        raise BadRequest(f"A frame of {len(text):,} bytes is longer than {longest:,}.")
    return text


def text_of(frame: _Frame) -> str:
    """Return a frame, or what a request carries, as JSON in ASCII."""
    return json.dumps(frame.model_dump(mode="json", by_alias=True), separators=(",", ":"))


def read_challenge(line: bytes) -> Challenge:
    """Return the first frame of a connection.

    Raises:
        CannotRead: it is something else.
    """
    return _read(TypeAdapter(Challenge), line)


def read_request(line: bytes) -> Request:
    """Return the request of a connection; what it carries is read once it is authenticated.

    Raises:
        CannotRead: it is something else.
    """
    return _read(TypeAdapter(Request), line)


def read_asked(text: str) -> Asked:
    """Return what an authenticated request asks.

    Raises:
        CannotRead: it is nothing that this version knows.
    """
    return _read(_ASKED, text.encode())


def read_outcome(text: str) -> Ran | NotRun:
    """Return what an authenticated result holds.

    Raises:
        CannotRead: it is something else.
    """
    return _read(_OUTCOME, text.encode(), parsed)  # what a command printed may hold NUL


def read_cancel(line: bytes) -> Cancel:
    """Return the one frame that a gateway sends while a run lasts.

    Raises:
        CannotRead: it is something else.
    """
    return _read(TypeAdapter(Cancel), line)


def read_from_server(line: bytes) -> FromServer:
    """Return a frame that a companion sends after its challenge.

    Raises:
        CannotRead: it is something else.
    """
    return _read(_FROM_SERVER, line)


def read_from_client(line: bytes) -> ReplyFrame | Ended:
    """Return a frame that a gateway sends after its request.

    Raises:
        CannotRead: it is something else.
    """
    return _read(_FROM_CLIENT, line)


T = TypeVar("T")


def _read(
    adapter: TypeAdapter[T], line: bytes, reader: Callable[[bytes], object] = read_object
) -> T:
    try:
        return read_model(adapter, line, reader)
    except FrameError as error:
        raise CannotRead(str(error)) from None

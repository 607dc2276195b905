"""Read and write one frame of exec-approvals.sock: one JSON object a line, strictly read."""

import json
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.alias_generators import to_camel

from core.errors import BadRequest
from core.ipc.errors import FrameError
from core.ipc.strict_json import read_object
from core.model.approval import ApprovalReply

VERSION: Literal[1] = 1
MAX_FRAME = 256_000
"""Bytes of a frame, its line feed included."""
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
    ALREADY_SHOWN = "already_shown"


class _Frame(BaseModel):
    model_config = ConfigDict(
        strict=True,
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=True,
        hide_input_in_errors=True,
    )


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
    """Somebody is there who knows the token."""

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


F = TypeVar("F", bound=_Frame)

_ASKED: TypeAdapter[Hello | Question] = TypeAdapter(
    Annotated[Hello | Question, Field(discriminator="kind")]
)
_FROM_SERVER: TypeAdapter[Shown | Ready | Refused | AnswerFrame] = TypeAdapter(
    Annotated[Shown | Ready | Refused | AnswerFrame, Field(discriminator="type")]
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
    if len(text) > MAX_FRAME:
        raise BadRequest(f"A frame of {len(text):,} bytes is longer than {MAX_FRAME:,}.")
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


def read_asked(text: str) -> Hello | Question:
    """Return what an authenticated request asks.

    Raises:
        CannotRead: it is nothing that this version knows.
    """
    return _read(_ASKED, text.encode())


def read_from_server(line: bytes) -> Shown | Ready | Refused | AnswerFrame:
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


def _read(adapter: TypeAdapter[T], line: bytes) -> T:
    try:
        return adapter.validate_python(read_object(line))
    except FrameError as error:
        raise CannotRead(str(error)) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the frame"
        raise CannotRead(f"{place}: {first['msg']}") from None

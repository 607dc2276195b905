"""Define the frames of gateway and node: JSON, one object per WebSocket message, ``t`` its kind.

::

    gateway                                  node
    hello {nonce, gateway, now_ms}     ─▶
                                       ◀─    auth {node_id, name, token, session, caps, signature}
    waiting {code, expires_ms}         ─▶    a person must allow it first
    welcome {name}                     ─▶    or refused {why}, and the end
    skills {bins}                      ─▶    what autoAllowSkills of the node's file lets run
    prepare {id, name, request}        ─▶
                                       ◀─    prepared {id, plan, verdict, unasked} or unprepared
    invoke {id, command, params}       ─▶    a command that auth.caps names
                                       ◀─    invoked {id, result} or not_invoked {id, error, why}
    run {plan, payload, signature}     ─▶
                                       ◀─    started {run_id, age_ms}
                                       ◀─    ended {run_id, result} or not_run {run_id, reason}
    noted {run_id}                     ─▶    the ending is on the gateway's disk
    cancel {run_id}                    ─▶
    query {run_id}                     ─▶    after a loss; an ending is answered,
                                       ◀─    or started, or underway {run_id}
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, TypeAdapter, model_validator

from core.ipc.errors import FrameError
from core.ipc.strict_json import LARGEST_NUMBER
from core.ipc.strict_model import StrictFrame, read_model
from core.model.command import ExecPlan, ExecRequest
from core.model.decision import DenialReason, Evaluation
from core.model.identity import ApprovalId
from core.model.result import Finished
from core.nodes.node_file import NodeName, PairingToken
from core.trust.ids import KeyId, RequestId

LARGEST = 4 << 20
"""Bytes of a message: a plan with a mebibyte of standard input in base64 fits."""
LARGEST_UNKNOWN = 4 << 10
"""The same, for a node that has not proven who it is."""
AUTHENTICATED = b"sayso-node-v1\0"
_LONGEST_WORDS = 2_000
_MOST_CAPS = 32
_MOST_BINS = 10_000
_LONGEST_RUN_MS = 365 * 86_400_000
_MOST_CODES = 1 << 31

Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]
RunId = Annotated[ApprovalId, Field(pattern="^[0-9a-z]{26}$")]
Words = Annotated[str, Field(max_length=_LONGEST_WORDS)]
NodeCommand = Annotated[
    str, Field(pattern=r"^[A-Za-z][A-Za-z0-9]*(\.[A-Za-z0-9]+)*$", max_length=64)
]
"""A command of ``node.invoke``, such as ``system.which`` (S1)."""


class BadFrame(ValueError):
    """What arrived is not a frame of this module; nothing more can be understood."""


class Hello(StrictFrame):
    """The gateway: who it is, a nonce to sign, and its time (epoch ms)."""

    t: Literal["hello"] = "hello"
    v: Literal[2] = 2
    nonce: RequestId
    gateway: KeyId
    now_ms: int


class Auth(StrictFrame):
    """The node: who it is. ``session`` names this connection in everything that is signed for it.

    The signature is over ``AUTHENTICATED``, the nonce, the gateway's id and the session, so it
    proves nothing to another gateway or at another time. ``caps`` are the commands that the node
    accepts; S1: it "must advertise" those by which its approvals file can be edited.
    """

    t: Literal["auth"] = "auth"
    v: Literal[2] = 2
    node_id: KeyId
    name: NodeName
    token: PairingToken
    session: RequestId
    caps: Annotated[tuple[NodeCommand, ...], Field(max_length=_MOST_CAPS)] = ()
    signature: Signature


class Waiting(StrictFrame):
    """The gateway: a person must allow this node first, under this code."""

    t: Literal["waiting"] = "waiting"
    code: Annotated[str, Field(pattern=r"^[0-9A-Za-z]{1,16}$")]
    expires_ms: int


class Welcome(StrictFrame):
    """The gateway: the node is paired, and this is its display name."""

    t: Literal["welcome"] = "welcome"
    name: NodeName


class Refused(StrictFrame):
    """The gateway: the node is not admitted, or no longer; the connection ends."""

    t: Literal["refused"] = "refused"
    why: Words


class Prepare(StrictFrame):
    """The gateway: read, resolve, bind and judge this. ``name`` is the node's, for the prompt."""

    t: Literal["prepare"] = "prepare"
    id: RequestId
    name: NodeName
    request: ExecRequest
    timeout_ms: Annotated[int, Field(gt=0)]


class Prepared(StrictFrame):
    """The node: the plan and its own verdict; ``unasked``: it may run if no one can be asked."""

    t: Literal["prepared"] = "prepared"
    id: RequestId
    plan: ExecPlan
    verdict: Evaluation
    unasked: bool


class Unprepared(StrictFrame):
    """The node: why there is no plan."""

    t: Literal["unprepared"] = "unprepared"
    id: RequestId
    reason: DenialReason
    why: Words


class Skills(StrictFrame):
    """The gateway: the names of ``skills.bins``, whenever they differ from those it sent last.

    They count only for agents for which the node's own file sets ``autoAllowSkills``.
    """

    t: Literal["skills"] = "skills"
    bins: Annotated[tuple[Annotated[str, Field(max_length=255)], ...], Field(max_length=_MOST_BINS)]


class Fault(StrEnum):
    """Why a node did not do what it was asked."""

    BAD_REQUEST = "bad_request"
    CONFLICT = "conflict"
    FAILED = "failed"


class Invoke(StrictFrame):
    """The gateway: do what one of the node's ``caps`` names; none of these runs a command."""

    t: Literal["invoke"] = "invoke"
    id: RequestId
    command: NodeCommand
    params: dict[str, JsonValue]


class Invoked(StrictFrame):
    """The node: the result of an ``invoke``."""

    t: Literal["invoked"] = "invoked"
    id: RequestId
    result: dict[str, JsonValue]


class NotInvoked(StrictFrame):
    """The node: nothing was done, and why."""

    t: Literal["not_invoked"] = "not_invoked"
    id: RequestId
    error: Fault
    why: Words


class Run(StrictFrame):
    """The gateway: run this plan, as its signed payload says (``core.nodes.envelope``)."""

    t: Literal["run"] = "run"
    plan: ExecPlan
    payload: Annotated[str, Field(max_length=16_384)]
    signature: Signature


class Started(StrictFrame):
    """The node: the first process of a run exists and continues; not sent again if it is lost.

    ``age_ms``: for how long it has existed, by a monotonic clock.
    """

    t: Literal["started"] = "started"
    run_id: RunId
    age_ms: Annotated[int, Field(ge=0, le=_LONGEST_RUN_MS)] = 0


class Ended(StrictFrame):
    """The node: how a run ended; sent again until it is noted.

    The result also names its run, and is stored under that name: it must be the same one.
    """

    t: Literal["ended"] = "ended"
    run_id: RunId
    result: Finished

    @model_validator(mode="after")
    def _is_of_its_run(self) -> Self:
        result = self.result
        if result.run_id != self.run_id:
            raise ValueError("the result is that of another run")
        codes = (result.exit_code or 0, result.signal or 0)
        counts = (result.duration_ms, result.output.total_bytes)
        if not all(abs(code) < _MOST_CODES for code in codes):
            raise ValueError("no program ends with such a code")
        if not all(0 <= count <= LARGEST_NUMBER for count in counts):
            raise ValueError("a number cannot be kept")
        return self


class NotRun(StrictFrame):
    """The node: nothing ran, and why; sent again until it is noted."""

    t: Literal["not_run"] = "not_run"
    run_id: RunId
    reason: DenialReason
    why: Words


class Noted(StrictFrame):
    """The gateway: the ending of a run is on its disk and need not be sent again."""

    t: Literal["noted"] = "noted"
    run_id: RunId


class Cancel(StrictFrame):
    """The gateway: end a run."""

    t: Literal["cancel"] = "cancel"
    run_id: RunId


class Query(StrictFrame):
    """The gateway: what became of a run that was ordered on an earlier connection?"""

    t: Literal["query"] = "query"
    run_id: RunId


class Underway(StrictFrame):
    """The node: that run has not begun yet."""

    t: Literal["underway"] = "underway"
    run_id: RunId


AnyFrame = (
    Hello
    | Auth
    | Waiting
    | Welcome
    | Refused
    | Prepare
    | Prepared
    | Unprepared
    | Skills
    | Invoke
    | Invoked
    | NotInvoked
    | Run
    | Started
    | Ended
    | NotRun
    | Noted
    | Cancel
    | Query
    | Underway
)
_READER: TypeAdapter[AnyFrame] = TypeAdapter(Annotated[AnyFrame, Field(discriminator="t")])


def encode(frame: AnyFrame) -> str:
    """Return a frame's text.

    Raises:
        BadFrame: it is larger than ``LARGEST``, or contains text that is not Unicode.
    """
    try:
        text = frame.model_dump_json()
    except ValueError as error:
        raise BadFrame("the frame holds text that is not valid Unicode") from error
    if len(text) > LARGEST or len(text.encode()) > LARGEST:
        raise BadFrame(f"the frame is larger than {LARGEST} bytes")
    return text


def decode(text: str | bytes) -> AnyFrame:
    """Read a frame.

    Raises:
        BadFrame: it is not one of the known frames, or could be read in two ways.
    """
    if isinstance(text, bytes):
        raise BadFrame("a binary message")
    try:
        return read_model(_READER, text.encode())
    except (FrameError, UnicodeEncodeError):
        raise BadFrame("unknown frame") from None


def proof(nonce: str, gateway: str, session: str) -> bytes:
    """Return what a node signs to prove that it holds its key."""
    return AUTHENTICATED + f"{nonce} {gateway} {session}".encode()

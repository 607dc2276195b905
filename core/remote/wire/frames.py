"""Frame the messages of client and host: 4-byte big-endian length, the prefix, JSON in UTF-8.

The prefix distinguishes exec frames from anything else that a link may carry one day (S4).
"""

import base64
import struct
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from core.ipc.errors import FrameError
from core.ipc.strict_model import StrictFrame, read_model
from core.model.result import StreamName
from core.remote.acl.acl import LONGEST_RUN_S
from core.remote.denials import Notice, RemoteDenial
from core.remote.trust.envelope import Sealed, few_values
from core.trust.ids import RequestId

PREFIX = b"sayso-exec-v1\0"
HEADER = struct.Struct("!I")
LARGEST = 2 << 20
"""Bytes of a frame's body: a mebibyte of standard input in base64, signed and quoted, fits."""
PIECE = 256 << 10
"""Bytes of output in one frame."""
SETTLING_MS = 30_000
"""What a client waits beyond the longest run: grace, log, and the last of the output."""
LONGEST_MS = LONGEST_RUN_S * 1000 + SETTLING_MS


class BadFrame(ValueError):
    """What arrived is not an exec frame: too large, without the prefix, or of an unknown form."""


class Accepted(StrictFrame):
    """The host: the run was admitted; renew its lease, and wait no longer than its end."""

    t: Literal["accepted"] = "accepted"
    lease_ms: Annotated[int, Field(ge=1, le=3_600_000)]
    longest_ms: Annotated[int, Field(ge=1, le=LONGEST_MS)]


class Renewed(StrictFrame):
    """The host: the lease is renewed."""

    t: Literal["renewed"] = "renewed"


class Piece(StrictFrame):
    """The host: what the command printed next on one stream, in base64."""

    t: Literal["piece"] = "piece"
    stream: Annotated[StreamName, Field(strict=False)]
    data: str

    @classmethod
    def of(cls, stream: StreamName, data: bytes) -> "Piece":
        """Wrap bytes."""
        return cls(stream=stream, data=base64.b64encode(data).decode())

    @property
    def content(self) -> bytes:
        """Return the bytes.

        Raises:
            ValueError: it is not base64.
        """
        return base64.b64decode(self.data, validate=True)


class End(StrictFrame):
    """The host: how it ended. Sizes in bytes, of all that was printed."""

    t: Literal["end"] = "end"
    request_id: RequestId | None = None
    code: int | None = None
    signal: int | None = None
    duration_ms: int = 0
    stdout_bytes_total: int = 0
    stderr_bytes_total: int = 0
    truncated: bool = False
    denial_reason: Annotated[RemoteDenial, Field(strict=False)] | None = None
    warnings: tuple[Annotated[Notice, Field(strict=False)], ...] = ()


AnyFrame = Sealed | Accepted | Renewed | Piece | End
_READER: TypeAdapter[AnyFrame] = TypeAdapter(Annotated[AnyFrame, Field(discriminator="t")])


def encode(frame: AnyFrame) -> bytes:
    """Return a frame's bytes.

    Raises:
        BadFrame: it is larger than ``LARGEST``.
    """
    body = PREFIX + frame.model_dump_json().encode()
    if len(body) > LARGEST:
        raise BadFrame(f"a frame of {len(body)} bytes; the maximum is {LARGEST}")
    return HEADER.pack(len(body)) + body


def body_length(header: bytes) -> int:
    """Return the length that a header announces.

    Raises:
        BadFrame: it is too long or too short for a frame.
    """
    (length,) = HEADER.unpack(header)
    if not len(PREFIX) < length <= LARGEST:
        raise BadFrame(f"a frame of {length} bytes; the maximum is {LARGEST}")
    return int(length)


def decode(body: bytes) -> AnyFrame:
    """Read a frame's body.

    Raises:
        BadFrame: it lacks the prefix, or is none of the known frames.
    """
    if not body.startswith(PREFIX):
        raise BadFrame("it does not begin with the prefix of exec frames")
    try:
        return read_model(_READER, body[len(PREFIX) :], few_values)
    except FrameError:
        raise BadFrame("unknown frame") from None

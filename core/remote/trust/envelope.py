"""Seal a request: signed by its agent, bound to its machine, for one host, for a short time.

The signed text travels as it was signed, so no two sides need to agree on a canonical form::

    signature   agent's key over   "sayso-exec-v1" NUL payload     who asks
    binding     machine's key over "sayso-bind-v1" NUL payload     on which machine, at this moment

The payload names both ids, so the pair of signatures is the binding of the agent to the machine;
a binding that was copied elsewhere is of no use without the machine's key.
"""

import base64
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, field_validator, model_validator

from core.ipc.errors import FrameError
from core.ipc.strict_json import parsed
from core.ipc.strict_model import StrictFrame, read_model
from core.trust.identity import Identity, is_signed
from core.trust.ids import KeyId, RequestId, new_id

SIGNED = b"sayso-exec-v1\0"
BOUND = b"sayso-bind-v1\0"
LIFE_MS = 30_000
"""How long a request may travel, and the longest life that a host accepts."""
_LONGEST_WORD = 4096
_MOST_WORDS = 256
_LARGEST_STDIN_TEXT = 2 << 20
_MOST_VALUES = 1_024
"""How many values may be sent: the words and keys of any request are fewer."""

Signature = Annotated[str, Field(pattern="^[0-9a-f]{128}$")]


def few_values(text: bytes) -> object:
    """Return the content of a frame or a payload, whose sender is not known yet.

    Raises:
        FrameError: it has more values than any may have, or is not valid JSON.
    """
    return parsed(text, most=_MOST_VALUES)


class BadEnvelope(ValueError):
    """An envelope cannot be read at all, so its sender is not known."""


class Kind(StrEnum):
    """What is requested: start a run, keep its lease, or end it."""

    RUN = "run"
    RENEW = "renew"
    CANCEL = "cancel"


class Order(StrictFrame):
    """What to run. ``cwd`` exists only to be refused (S4); ``timeout_ms`` is wall clock."""

    argv: Annotated[
        tuple[Annotated[str, Field(max_length=_LONGEST_WORD)], ...],
        Field(min_length=1, max_length=_MOST_WORDS),
    ]
    timeout_ms: Annotated[int, Field(gt=0)] | None = None
    stdin_b64: Annotated[str, Field(max_length=_LARGEST_STDIN_TEXT)] | None = None
    cwd: str | None = None

    @field_validator("stdin_b64")
    @classmethod
    def _is_base64(cls, text: str | None) -> str | None:
        try:
            base64.b64decode(text or "", validate=True)
        except ValueError:
            raise ValueError("must be base64") from None
        return text

    @property
    def stdin(self) -> bytes | None:
        """Return what the command reads."""
        return None if self.stdin_b64 is None else base64.b64decode(self.stdin_b64)


class Payload(StrictFrame):
    """What is signed. Times are epoch ms of the sender's clock; ``run`` is set for a run only."""

    v: Literal[1] = 1
    kind: Kind
    agent_id: KeyId
    machine_id: KeyId
    to_machine: KeyId
    nonce: RequestId
    issued_ms: int
    expires_ms: int
    request_id: RequestId
    run: Order | None = None

    @model_validator(mode="after")
    def _run_has_an_order(self) -> Self:
        if (self.kind is Kind.RUN) != (self.run is not None):
            raise ValueError("only a run has an order")
        return self


_PAYLOAD = TypeAdapter(Payload)


class Sealed(StrictFrame):
    """A payload's text with its two signatures, as it travels."""

    t: Literal["envelope"] = "envelope"
    payload: str
    signature: Signature
    binding: Signature

    def opened(self) -> "Opened":
        """Read the payload; nothing in it is proven yet.

        Raises:
            BadEnvelope: it is not a payload of this version, or has a key twice.
        """
        try:
            payload = read_model(_PAYLOAD, self.payload.encode(), few_values)
        except (FrameError, UnicodeEncodeError):
            raise BadEnvelope("the payload is not one of version 1") from None
        return Opened(payload, self)


@dataclass(frozen=True, slots=True)
class Opened:
    """A payload that was read, and the signatures it came with."""

    payload: Payload
    sealed: Sealed

    @property
    def is_signed(self) -> bool:
        """Return whether the agent that it names signed it."""
        text = SIGNED + self.sealed.payload.encode()
        return is_signed(self.payload.agent_id, self.sealed.signature, text)

    @property
    def is_bound(self) -> bool:
        """Return whether the machine that it names signed it, too."""
        text = BOUND + self.sealed.payload.encode()
        return is_signed(self.payload.machine_id, self.sealed.binding, text)


def seal(identity: Identity, payload: Payload) -> Sealed:
    """Sign a payload with both keys."""
    text = payload.model_dump_json(exclude_none=True)
    return Sealed(
        payload=text,
        signature=identity.agent.sign(SIGNED + text.encode()).hex(),
        binding=identity.machine.sign(BOUND + text.encode()).hex(),
    )


@dataclass(frozen=True, slots=True)
class Sealer:
    """Seals what one client says to one host."""

    identity: Identity
    to_machine: str

    def seal(self, kind: Kind, request_id: str, now_ms: int, run: Order | None = None) -> Sealed:
        """Return a request that is valid for ``LIFE_MS`` from now on."""
        payload = Payload(
            kind=kind,
            agent_id=self.identity.agent_id,
            machine_id=self.identity.machine_id,
            to_machine=self.to_machine,
            nonce=new_id(),
            issued_ms=now_ms,
            expires_ms=now_ms + LIFE_MS,
            request_id=request_id,
            run=run,
        )
        return seal(self.identity, payload)

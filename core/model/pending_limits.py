"""Limit how many questions may wait for people, and name the bound that a further one exceeds."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

_MEBIBYTE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class PendingLimits:
    """How many questions may wait at a time, and how many bytes of standard input with them."""

    per_agent: int = 200
    total: int = 1_000
    input_bytes_per_agent: int = 16 * _MEBIBYTE
    input_bytes: int = 64 * _MEBIBYTE


DEFAULT_LIMITS: Final = PendingLimits()


class PendingBound(StrEnum):
    """One of the limits, as the key that sets it."""

    PER_AGENT = "approvals.exec.pending.perAgent"
    TOTAL = "approvals.exec.pending.total"
    INPUT_PER_AGENT = "approvals.exec.pending.inputBytesPerAgent"
    INPUT = "approvals.exec.pending.inputBytes"


@dataclass(frozen=True, slots=True)
class Crowded:
    """A question that is not asked because it would exceed ``bound``.

    ``found`` is what waits already, ``brings`` what the question would add: questions or bytes.
    """

    bound: PendingBound
    limit: int
    found: int
    brings: int

    @property
    def sentence(self) -> str:
        """Return the agent's message: what happened, the limit, and what to do next."""
        return _WORDS[self.bound].format(self) + (
            " Nobody was asked about this one. Wait for answers or cancel some (see `sayso "
            f"pending`), then retry; the owner can raise {self.bound}."
        )


_WORDS: Final = {
    PendingBound.PER_AGENT: (
        "{0.found:,} approvals of this agent are pending, the maximum is {0.limit:,}."
    ),
    PendingBound.TOTAL: (
        "{0.found:,} approvals of all agents are pending, the maximum is {0.limit:,}."
    ),
    PendingBound.INPUT_PER_AGENT: "This agent's pending approvals hold {0.found:,} "
    "bytes of standard input, this one adds {0.brings:,}, the maximum is {0.limit:,}.",
    PendingBound.INPUT: "The pending approvals of all agents hold {0.found:,} bytes "
    "of standard input, this one adds {0.brings:,}, the maximum is {0.limit:,}.",
}

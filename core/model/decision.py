"""Say what was decided, by which rule, and why."""

from dataclasses import dataclass
from enum import IntEnum, StrEnum


class Decision(IntEnum):
    """A verdict, ordered by strictness: combine with ``max`` (DESIGN §1 rule 4)."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """Return ``allow``, ``ask`` or ``deny``, as written on the wire."""
        return self.name.lower()


class DenialReason(StrEnum):
    """Why nothing ran; a closed list (documented in docs/reference/denials.md)."""

    SECURITY_DENY = "security_deny"
    ALLOWLIST_MISS = "allowlist_miss"
    ARGV_NOT_ALLOWED = "argv_not_allowed"
    APPROVAL_TIMEOUT = "approval_timeout"
    APPROVER_DENIED = "approver_denied"
    CANCELLED = "cancelled"
    NO_ROUTE = "no_route"
    UNDELIVERED = "undelivered"
    PLAN_DRIFT = "plan_drift"
    HOST_UNAVAILABLE = "host_unavailable"
    EXECUTABLE_NOT_FOUND = "executable_not_found"
    BAD_CWD = "bad_cwd"
    FORBIDDEN_ENVIRONMENT = "forbidden_environment"
    BAD_REQUEST = "bad_request"
    SPAWN_FAILED = "spawn_failed"


class Reason(StrEnum):
    """Why a command was allowed, asked about or denied; one per segment."""

    ALLOWLISTED = "allowlisted"
    SAFE_BIN = "safe_bin"
    ACL = "acl"
    SECURITY_FULL = "security_full"
    SECURITY_DENY = "security_deny"
    NOT_LISTED = "not_listed"
    UNREADABLE = "unreadable"
    WRAPPER = "wrapper"
    CARRIER = "carrier"
    SAFE_BIN_ARGUMENTS = "safe_bin_arguments"
    ARGV_NOT_ALLOWED = "argv_not_allowed"
    ENVIRONMENT = "environment"
    EXECUTABLE_NOT_FOUND = "executable_not_found"
    ASK_ALWAYS = "ask_always"


@dataclass(frozen=True, slots=True)
class SegmentVerdict:
    """The verdict on one command: ``rule`` names what matched or was missed, in words."""

    argv: tuple[str, ...]
    resolved: str | None
    decision: Decision
    reason: Reason
    rule: str


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdict on a line: the strictest of its segments, and the reason in words.

    ``reason`` is the machine-readable reason of the deciding segment; ``why`` is one sentence
    that a person can read. ``promise`` lists the patterns that allow-always would store; empty
    means that allow-always is not offered.
    """

    decision: Decision
    reason: Reason
    why: str
    segments: tuple[SegmentVerdict, ...]
    promise: tuple[str, ...] = ()

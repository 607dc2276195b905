"""Define what was decided, by which rule, and why."""

import shlex
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from core.model.policy import ExecAsk, ExecSecurity


class Decision(IntEnum):
    """A verdict, ordered by strictness: combine with ``max`` (invariant 4)."""

    ALLOW = 0
    ASK = 1
    DENY = 2

    @property
    def word(self) -> str:
        """Return ``allow``, ``ask`` or ``deny``, as written on the wire."""
        return self.name.lower()


class Tier(StrEnum):
    """How much a question weighs: what a rule says about the people it needs (issue 4, "Rules")."""

    ROUTINE = "routine"
    ELEVATED = "elevated"
    CRITICAL = "critical"

    @property
    def weight(self) -> int:
        """Return the place in the order from light to heavy, for ``max``."""
        return _TIERS.index(self)


_TIERS = tuple(Tier)


class AllowedBy(StrEnum):
    """What let a run start: policy, people, or ``askFallback`` because nobody could be asked."""

    POLICY = "policy"
    PEOPLE = "people"
    FALLBACK = "fallback"


@dataclass(frozen=True, slots=True)
class Basis:
    """What let a run start; ``people`` are the accounts that allowed it: ``telegram:42``.

    ``proofs`` are what passkeys of theirs signed, each a JSON text of ``core.trust.passkeys``.
    """

    by: AllowedBy = AllowedBy.POLICY
    people: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()


class DenialReason(StrEnum):
    """Why nothing ran; a closed list (documented in docs/reference/denials.md)."""

    SECURITY_DENY = "security_deny"
    ALLOWLIST_MISS = "allowlist_miss"
    RULE_DENIED = "rule_denied"
    CAPABILITY_DENIED = "capability_denied"
    ARGV_NOT_ALLOWED = "argv_not_allowed"
    APPROVAL_TIMEOUT = "approval_timeout"
    APPROVER_DENIED = "approver_denied"
    CANCELLED = "cancelled"
    NO_ROUTE = "no_route"
    UNDELIVERED = "undelivered"
    TOO_MANY_PENDING = "too_many_pending"
    PLAN_DRIFT = "plan_drift"
    HOST_UNAVAILABLE = "host_unavailable"
    EXECUTABLE_NOT_FOUND = "executable_not_found"
    BAD_CWD = "bad_cwd"
    FORBIDDEN_ENVIRONMENT = "forbidden_environment"
    BAD_REQUEST = "bad_request"
    SPAWN_FAILED = "spawn_failed"
    LOCKED_DOWN = "locked_down"


class Reason(StrEnum):
    """Why a command was allowed, asked about or denied; one per segment."""

    ALLOWLISTED = "allowlisted"
    SAFE_BIN = "safe_bin"
    SKILL = "skill"
    RULE_ALLOWED = "rule_allowed"
    RULE_ASKED = "rule_asked"
    RULE_DENIED = "rule_denied"
    CAPABILITY = "capability"
    ACL = "acl"
    SECURITY_FULL = "security_full"
    SANDBOXED = "sandboxed"
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
    STDIN = "stdin"
    EXPOSED = "exposed"
    STEERED = "steered"
    REPLACES = "replaces"
    TERMINAL = "terminal"
    AGENT_PROMPT = "agent_prompt"
    AGENT_TOOL = "agent_tool"
    OPENS_TERMINAL = "opens_terminal"


Content = tuple[tuple[str, str], ...]
"""Files of code: the real path and the SHA-256 hex of each."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What allow-always stores: a program's path, and for a carrier its exact arguments.

    ``argv`` holds what follows the program, ``None`` any arguments. In an entry that a person wrote
    its elements may be templates. It holds only while each file of ``content`` is what it was and
    no other code is read: empty means none at all, ``None`` any (decisions 21 and 54).
    """

    pattern: str
    argv: tuple[str, ...] | None = None
    content: Content | None = None

    @property
    def words(self) -> str:
        """Return it as people read it; quotes show where an argument begins and ends."""
        return f"{self._vector}{self._condition}"

    @property
    def scope(self) -> str:
        """Return it as people read it before they grant it: a bare path lets any arguments run."""
        if self.argv is not None:
            return self.words
        return f"{self.pattern} with any arguments{self._condition}"

    @property
    def _vector(self) -> str:
        if self.argv is None:
            return self.pattern
        if not self.argv:
            return f"{self.pattern} without arguments"
        return f"{self.pattern} {shlex.join(self.argv)} exactly"

    @property
    def _condition(self) -> str:
        paths = [path for path, _ in self.content or ()]
        if len(paths) > 1:
            return f", while {' and '.join(map(shlex.quote, paths))} stay as they are"
        names = ("it" if path == self.pattern else shlex.quote(path) for path in paths)
        return "".join(f", while {name} stays as it is" for name in names)


@dataclass(frozen=True, slots=True)
class SegmentVerdict:
    """The verdict on one command: ``rule`` names what matched or was missed, in words.

    ``tier`` is that of the rule which decided. ``entries`` are the allowlist's entries that let
    it pass, in their words: several where it is a wrapper around several commands.
    """

    argv: tuple[str, ...]
    resolved: str | None
    decision: Decision
    reason: Reason
    rule: str
    tier: Tier = Tier.ROUTINE
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The verdict on a line: the strictest of its segments, and the reason in words.

    ``reason`` is the machine-readable reason of the deciding segment; ``why`` is one sentence
    that a person can read. ``promise`` lists what allow-always would store; empty means that
    allow-always is not offered. ``security`` and ``ask`` are those in effect, for the people who
    are asked (S1 "Approval flow"); ``None`` in what an earlier version stored.
    """

    decision: Decision
    reason: Reason
    why: str
    segments: tuple[SegmentVerdict, ...]
    promise: tuple[Promise, ...] = ()
    security: ExecSecurity | None = None
    ask: ExecAsk | None = None

    @property
    def tier(self) -> Tier:
        """Return the heaviest tier of the segments."""
        return max((one.tier for one in self.segments), key=_weight, default=Tier.ROUTINE)


def _weight(tier: Tier) -> int:
    return tier.weight

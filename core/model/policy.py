"""Describe what may run where, and when a person is asked (S0 "Key concepts", S1)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ExecHost(StrEnum):
    """Where a command runs."""

    SANDBOX = "sandbox"
    GATEWAY = "gateway"
    NODE = "node"


class ExecSecurity(StrEnum):
    """What may run at all; ordered from strict to lax by ``_SECURITY_ORDER``."""

    DENY = "deny"
    ALLOWLIST = "allowlist"
    FULL = "full"


class ExecAsk(StrEnum):
    """When a person is asked."""

    OFF = "off"
    ON_MISS = "on-miss"
    ALWAYS = "always"


class AskFallback(StrEnum):
    """What decides when a person should be asked and no route to one exists."""

    DENY = "deny"
    ALLOWLIST = "allowlist"
    FULL = "full"


class Trust(StrEnum):
    """Whether a carrier is trusted by its path alone (classical) or by profile only (strict)."""

    STRICT = "strict"
    CLASSICAL = "classical"


class Elevation(StrEnum):
    """What ``/elevated`` sets (S0 "Alias"): full access on the gateway for this session.

    ``on`` leaves ``ask`` as it is, ``ask`` asks about every command, ``full`` skips approvals,
    ``off`` restores what was set before. The approvals file may still be stricter, but for ``full``
    only by denying.
    """

    ON = "on"
    OFF = "off"
    ASK = "ask"
    FULL = "full"


_SECURITY_ORDER = (ExecSecurity.DENY, ExecSecurity.ALLOWLIST, ExecSecurity.FULL)
_ASK_ORDER = (ExecAsk.ALWAYS, ExecAsk.ON_MISS, ExecAsk.OFF)
_FALLBACK_ORDER = (AskFallback.DENY, AskFallback.ALLOWLIST, AskFallback.FULL)
_TRUST_ORDER = (Trust.STRICT, Trust.CLASSICAL)

DEFAULT_SAFE_BINS = ("jq", "grep", "cut", "sort", "uniq", "head", "tail", "tr", "wc")
"""Nine programs that only read standard input (S1 "Safe bins")."""


@dataclass(frozen=True, slots=True)
class ExecPolicy:
    """The effective policy of one request, each setting with the place it came from.

    ``skip_approvals`` is what a person set for a session: nobody is asked, whatever would ask.
    ``sources`` maps a setting's name to words such as ``agents.list[main].tools.exec.ask``.
    """

    host: ExecHost = ExecHost.SANDBOX
    security: ExecSecurity = ExecSecurity.DENY
    ask: ExecAsk = ExecAsk.ON_MISS
    ask_fallback: AskFallback = AskFallback.DENY
    node: str | None = None
    trust: Trust = Trust.STRICT
    safe_bins: tuple[str, ...] = DEFAULT_SAFE_BINS
    timeout_ms: int = 1_800_000
    skip_approvals: bool = False
    sources: Mapping[str, str] = field(default_factory=dict, compare=False)


def stricter_security(a: ExecSecurity, b: ExecSecurity) -> ExecSecurity:
    """Return the one that allows less to run."""
    return min(a, b, key=_SECURITY_ORDER.index)


def stricter_ask(a: ExecAsk, b: ExecAsk) -> ExecAsk:
    """Return the one that asks more often."""
    return min(a, b, key=_ASK_ORDER.index)


def stricter_fallback(a: AskFallback, b: AskFallback) -> AskFallback:
    """Return the one that allows less to run without asking."""
    return min(a, b, key=_FALLBACK_ORDER.index)


def stricter_trust(a: Trust, b: Trust) -> Trust:
    """Return the one that trusts fewer programs."""
    return min(a, b, key=_TRUST_ORDER.index)


@dataclass(frozen=True, slots=True)
class PolicyLayer:
    """One place that may set a policy; ``None`` leaves the value to the next layer.

    ``source`` is the words that a person sees: ``call``, ``session``,
    ``agents.list[main].tools.exec``, ``tools.exec``, ``exec-approvals.json agents.main``.
    """

    source: str
    host: ExecHost | None = None
    security: ExecSecurity | None = None
    ask: ExecAsk | None = None
    ask_fallback: AskFallback | None = None
    node: str | None = None
    trust: Trust | None = None
    safe_bins: tuple[str, ...] | None = None
    timeout_ms: int | None = None
    skip_approvals: bool | None = None

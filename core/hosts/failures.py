"""Translate why nothing ran: errors into reasons that are sent over a connection, and back."""

from core.errors import (
    ApprovalsFileError,
    CancelledFirst,
    HostUnavailable,
    LockedDown,
    PlanDrift,
    SaysoError,
    SpawnError,
)
from core.model.decision import DenialReason

_ERRORS: dict[DenialReason, type[SaysoError]] = {
    DenialReason.PLAN_DRIFT: PlanDrift,
    DenialReason.LOCKED_DOWN: LockedDown,
    DenialReason.HOST_UNAVAILABLE: HostUnavailable,
    DenialReason.CANCELLED: CancelledFirst,
    DenialReason.SPAWN_FAILED: SpawnError,
}
_REASONS: dict[type[SaysoError], DenialReason] = {
    **{error: reason for reason, error in _ERRORS.items()},
    ApprovalsFileError: DenialReason.SECURITY_DENY,
}


def reason_of(failure: SaysoError) -> DenialReason:
    """Return the reason of an error of a host that ran nothing."""
    kinds = (_REASONS[kind] for kind in type(failure).__mro__ if kind in _REASONS)
    return next(kinds, DenialReason.SPAWN_FAILED)


def failure_of(reason: DenialReason, why: str) -> SaysoError:
    """Return what our own runner would raise for the reason that another machine names."""
    return _ERRORS.get(reason, HostUnavailable)(why)

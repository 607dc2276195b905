"""Map reasons for which nothing ran to their errors."""

import pytest

from core.errors import (
    ApprovalsFileError,
    BadRequest,
    CancelledFirst,
    HostUnavailable,
    JournalError,
    LockedDown,
    PlanDrift,
    SaysoError,
    SpawnError,
    StateError,
)
from core.hosts.failures import failure_of, reason_of
from core.model.decision import DenialReason

_PAIRS: dict[DenialReason, type[SaysoError]] = {
    DenialReason.PLAN_DRIFT: PlanDrift,
    DenialReason.LOCKED_DOWN: LockedDown,
    DenialReason.HOST_UNAVAILABLE: HostUnavailable,
    DenialReason.CANCELLED: CancelledFirst,
    DenialReason.SPAWN_FAILED: SpawnError,
}


@pytest.mark.parametrize("reason", _PAIRS)
def test_a_reason_returns_as_its_error(reason: DenialReason) -> None:
    """What another machine names is what our own runner would have raised, in its words."""
    failure = failure_of(reason, "why")
    assert type(failure) is _PAIRS[reason]
    assert str(failure) == "why"
    assert reason_of(failure) is reason


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ApprovalsFileError("broken"), DenialReason.SECURITY_DENY),
        (StateError("no disk"), DenialReason.SPAWN_FAILED),
        (JournalError("full"), DenialReason.SPAWN_FAILED),
        (BadRequest("odd"), DenialReason.SPAWN_FAILED),
    ],
)
def test_other_errors_have_a_reason_too(failure: SaysoError, reason: DenialReason) -> None:
    """An approvals file that cannot be read denies; any other error is a start error."""
    assert reason_of(failure) is reason


def test_a_reason_of_policy_from_elsewhere_is_the_hosts() -> None:
    """Reasons that only a policy has, named by another machine, mean that its host refuses."""
    assert type(failure_of(DenialReason.SECURITY_DENY, "why")) is HostUnavailable

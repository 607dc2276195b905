"""Accept a request only within its time, which is neither empty nor too long."""

import pytest

from core.remote.denials import RemoteDenial
from core.remote.trust.envelope import LIFE_MS, Kind, Payload
from core.remote.trust.replay_window import SKEW_MS, Freshness
from core.trust.ids import new_id

NOW = 1_800_000_000_000
KEY = "a" * 64


def _payload(issued: int, expires: int) -> Payload:
    nonce, request = new_id(), new_id()
    return Payload(
        kind=Kind.CANCEL,
        agent_id=KEY,
        machine_id=KEY,
        to_machine=KEY,
        nonce=nonce,
        request_id=request,
        issued_ms=NOW + issued,
        expires_ms=NOW + expires,
    )


@pytest.mark.parametrize(
    ("issued", "expires", "fresh"),
    [
        (0, LIFE_MS, True),
        (0, LIFE_MS + 1, False),
        (0, 1, True),
        (0, 0, False),
        (-LIFE_MS, 0, False),
        (1 - LIFE_MS, 1, True),
        (SKEW_MS, SKEW_MS + 1, True),
        (SKEW_MS + 1, SKEW_MS + 2, False),
        (SKEW_MS, SKEW_MS, False),
        (SKEW_MS, SKEW_MS - 1, False),
    ],
)
def test_a_request_is_fresh_from_its_issue_to_its_expiry(
    issued: int, expires: int, *, fresh: bool
) -> None:
    """In ms from now; the sender's clock may run ahead, but nothing is valid for no time."""
    denial = Freshness(started_ms=0).stale(_payload(issued, expires), NOW)
    assert denial is (None if fresh else RemoteDenial.EXPIRED)


def test_what_was_issued_before_the_start_is_not_fresh() -> None:
    """The nonces that came then are not known any more."""
    window = Freshness(started_ms=NOW)
    assert window.stale(_payload(-1, 9), NOW) is RemoteDenial.EXPIRED
    assert window.stale(_payload(0, 9), NOW) is None

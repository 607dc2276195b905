"""Check codes of authenticator apps against RFC 6238, and at the edges of their time."""

import base64

import pytest

from core.trust.totp import STEP_MS, matching_step, new_secret, uri
from tests.support.authenticator_app import code_at

SECRET = base64.b32encode(b"12345678901234567890").decode()
VECTORS = {59: "287082", 1111111109: "081804", 1234567890: "005924", 20000000000: "353130"}
"""Epoch seconds and the last six of the eight digits in appendix B."""


@pytest.mark.parametrize(("at_s", "code"), VECTORS.items())
def test_the_codes_are_those_of_the_standard(at_s: int, code: str) -> None:
    """Of its step, whoever computes them."""
    assert code_at(SECRET, at_s * 1000) == code
    assert matching_step(SECRET, code, at_s * 1000) == at_s // 30


@pytest.mark.parametrize(
    ("steps", "counts"), [(-2, False), (-1, True), (0, True), (1, True), (2, False)]
)
def test_a_clock_may_be_one_step_off(steps: int, counts: bool) -> None:
    """And no further; the step is the code's own, so that it can be used up."""
    now = 1_234_567_890_000
    found = matching_step(SECRET, code_at(SECRET, now + steps * STEP_MS), now)
    assert found == (now // STEP_MS + steps if counts else None)


OTHER_DIGITS = "\uff12\uff18\uff17\uff10\uff18\uff12"


@pytest.mark.parametrize("code", ["", "28708", "2870820", "28708x", " 287082", OTHER_DIGITS])
def test_what_is_no_code_matches_nothing(code: str) -> None:
    """Also digits of another script."""
    assert matching_step(SECRET, code, 59_000) is None


def test_secrets_differ_and_an_app_can_read_them() -> None:
    """160 bits in base32, in the form that QR codes carry."""
    first, second = new_secret(), new_secret()
    assert first != second
    assert len(base64.b32decode(first)) == 20
    assert uri(first, "ana") == f"otpauth://totp/Sayso:ana?secret={first}&issuer=Sayso"

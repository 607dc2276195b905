"""Read from an answer to a proof its result, or the reason why there is none."""

import json

import pytest

from bot.gate_proof.rpc import result_of
from core.errors import SaysoError


def _frame(**parts: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, **parts})


def test_the_result_is_what_the_frame_holds() -> None:
    """Whatever it is, also nothing."""
    assert result_of(_frame(result={"status": "held"})) == {"status": "held"}
    assert result_of(_frame(result=None).encode()) is None


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (_frame(error={"code": -32600, "message": "too many requests"}), "^too many requests$"),
        (_frame(error="too many requests"), "^no result$"),
        (_frame(), "^no result$"),
        (_frame(id=2, result={}), "^connection closed, or"),
        ("[]", "^connection closed, or"),
        ("", "^connection closed, or"),
    ],
)
def test_a_failure_says_what_the_gateway_said(frame: str, words: str) -> None:
    """The gateway's own words; otherwise that there are none, or that the frame is another's."""
    with pytest.raises(SaysoError, match=words):
        result_of(frame)

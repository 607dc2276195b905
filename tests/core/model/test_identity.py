"""Name who asks, and what may be a name."""

import pytest

from core.model.events import finished_text
from core.model.identity import LONGEST_NAME, Intake, Requester, is_name
from core.model.node import AWAY, NodeState


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        ("main", True),
        ("a" * LONGEST_NAME, True),
        ("a" * (LONGEST_NAME + 1), False),
        ("", False),
        ("a\nb", False),
    ],
)
def test_what_may_be_a_name(text: str, *, is_one: bool) -> None:
    """Neither empty, nor long, nor of several lines."""
    assert is_name(text) is is_one


@pytest.mark.parametrize(
    ("intake", "account", "uid"),
    [
        (Intake.SOCKET, "uid:1000", 1000),
        (Intake.SOCKET, "uid:", None),
        (Intake.SOCKET, "uid:x", None),
        (Intake.SOCKET, "api:7", None),
        (Intake.HTTP, "uid:1000", None),
        (Intake.CHAT, "uid:1000", None),
    ],
)
def test_whom_the_kernel_named(intake: Intake, account: str, uid: int | None) -> None:
    """Only on the socket is an account the kernel's."""
    assert Requester(intake, account).uid == uid


def test_a_node_is_connected_since_a_time() -> None:
    """Also since the first moment of all."""
    assert [one.connected for one in (AWAY, NodeState(0), NodeState(7))] == [False, True, True]


@pytest.mark.parametrize(("tail", "end"), [("", ")"), ("out", ")\nout")])
def test_an_end_has_its_output(tail: str, end: str) -> None:
    """On lines of its own, if there was any."""
    assert finished_text("gateway", "1", "0", tail).endswith(f"code=0{end}")

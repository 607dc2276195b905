"""Show an agent's words while more may follow, without the beginning of a secret."""

import pytest

from bot.chat.agent_text import settled, status_of
from core.model.identity import ApprovalId
from core.model.result import Finished, Output
from core.text.secrets import mask

SECRETS = (
    ("ghp_", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"),
    ("AKIA", "QRSTUVWX23456789"),
    ("sk-ant-api03-", "Zz9Yy8Xx7Ww6" * 6),
    ("password=", "hunter2hunter2"),
    ("my password: ", "correcthorse"),
    ("Authorization: Bearer ", "abcdefghijklmnopqrstuv"),
    ("postgres://sayso:", "correcthorse@db.example/x"),
)
"""What is visible of each kind, and what is not."""
_HINT = 4
"""Characters of a secret that give it away in part."""


def _halves(kind: str, secret: str) -> list[str]:
    return [f"Here: {kind}{secret[:end]}" for end in range(1, len(secret))]


@pytest.mark.parametrize(("kind", "secret"), SECRETS)
def test_half_a_secret_is_not_shown_however_long_it_rests(kind: str, secret: str) -> None:
    """Wherever an agent pauses in it."""
    shown = [mask(settled(half, rests=True)) for half in _halves(kind, secret)]
    assert [one for one in shown if secret[:_HINT] in one] == []


def test_masking_alone_shows_halves() -> None:
    """The control: these kinds are recognised as secrets only by their whole length."""
    found = [
        kind
        for kind, secret in SECRETS
        if any(secret[:_HINT] in mask(half) for half in _halves(kind, secret))
    ]
    assert found == ["ghp_", "AKIA", "sk-ant-api03-", "postgres://sayso:"]


@pytest.mark.parametrize(
    "text",
    ["I write the file", "Shall I go on?", "It's done.", "I read `notes.txt`", "See (below):", ""],
)
def test_what_an_agent_rests_on_is_shown(text: str) -> None:
    """A question that waits for its answer is read to its last word; at first it is held back."""
    assert settled(text, rests=True) == text
    assert settled(text) == text.rpartition(" ")[0] + " " * (" " in text)


@pytest.mark.parametrize("text", ["The token is Zz9Yy8", "my password: hun", "It is 12345"])
def test_what_may_go_on_as_a_secret_waits(text: str) -> None:
    """By its characters, or by what is said before it."""
    assert settled(text, rests=True) == text.rpartition(" ")[0] + " "
    assert settled(text + " and more ", rests=True) == text + " and more "


@pytest.mark.parametrize(
    ("tail", "why"),
    [
        ("I begin.\nsayso: the model is overloaded\n", "the model is overloaded"),
        ("I begin.\n", "no reason was given"),
        ("", "no reason was given"),
    ],
)
def test_a_failure_names_its_reason(tail: str, why: str) -> None:
    """The last line of the record is ours if it has one."""
    end = Finished(ApprovalId("1" * 26), 1, None, Output(tail, tail, len(tail)), 1500)
    assert status_of(end) == f"failed: {why} (1.5 s)"

"""Serve urgent methods although every place is taken."""

from bot.intake.socket import URGENT
from tests.project.methods_reference import table


def test_what_is_urgent_is_a_method() -> None:
    """One that was renamed would wait for a place like any other, and nobody would notice."""
    assert URGENT <= table().keys(), "correct URGENT in bot/intake/socket.py"

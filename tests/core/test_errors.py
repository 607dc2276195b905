"""Check what an error says besides its words."""

from core.errors import ChannelError


def test_a_channel_that_fails_may_be_tried_again() -> None:
    """Unless the raiser knows better: what is called permanent is not sent any more."""
    error = ChannelError("away", retry_after_ms=5)

    assert (str(error), error.retry_after_ms, error.permanent) == ("away", 5, False)
    assert ChannelError("no such chat", permanent=True).permanent

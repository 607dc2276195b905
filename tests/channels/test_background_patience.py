"""Send a reply in the end, and never after it is of no use."""

import time

import pytest

from channels.background import patiently
from core.errors import ChannelError


class Platform:
    """Refuse a set number of times, then accept what is sent."""

    def __init__(self, *refusals: ChannelError) -> None:
        self.refusals = list(refusals)

    async def send(self) -> str:
        """Refuse or accept it."""
        if self.refusals:
            raise self.refusals.pop(0)
        return "sent"


async def test_a_reply_waits_as_long_as_asked() -> None:
    """Two short waits delay it; then it is there."""
    began = time.monotonic()
    platform = Platform(*(ChannelError("slow down", retry_after_ms=100) for _ in range(2)))

    assert "sent" == await patiently(platform.send)
    assert time.monotonic() - began >= 0.2


@pytest.mark.parametrize(
    "refusal",
    [
        ChannelError("no such chat", permanent=True),
        ChannelError("away"),
        ChannelError("slow down", retry_after_ms=2_000),
    ],
    ids=["for good", "away", "longer than of use"],
)
async def test_what_waiting_does_not_help_is_raised(refusal: ChannelError) -> None:
    """Negative control: only a stated, short enough time is waited for."""
    with pytest.raises(ChannelError, match=str(refusal)):
        await patiently(Platform(refusal).send, longest_s=1.0)

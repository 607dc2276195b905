"""Ask the platforms whether prompts and answers get through."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass

from bot.health.component import Part
from channels.base import Channel
from core.errors import SaysoError

_PATIENCE_S = 10.0
GOOD_S, BAD_S = 60.0, 10.0
"""Seconds that an answer is shown before the platform is asked again."""


@dataclass(frozen=True, slots=True)
class ChannelLook:
    """Look at one channel."""

    channel: Channel
    name: str

    async def __call__(self) -> Mapping[str, Part]:
        """Ask the platform."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                state = await self.channel.check()
        except TimeoutError:
            part = Part(False, f"the platform did not answer within {_PATIENCE_S:.0f} s")
        except SaysoError as failure:
            part = Part(False, str(failure))
        else:
            part = Part(state.ok, state.detail)
        return {f"channel {self.name}": part}

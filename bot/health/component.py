"""Say what one part of the gateway is like, and keep an answer for a while."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Part:
    """One part: whether it is as it must be, and in words how it is and what to do.

    ``logged``: whoever found that out has written it to the log.
    """

    ok: bool
    detail: str
    logged: bool = False

    def as_json(self) -> dict[str, object]:
        """Return it as reports show it."""
        return {"ok": self.ok, "detail": self.detail}


Look = Callable[[], Awaitable[Mapping[str, Part]]]
"""Look at one or more parts, by the names under which they are shown; never raises."""


@dataclass(slots=True)
class Kept:
    """Look once and show the same for a while: ``good_s`` where all is well, else ``bad_s``.

    A caller that comes during a check waits for its result.
    """

    look: Look
    good_s: float
    bad_s: float
    _found: Mapping[str, Part] = field(default_factory=dict)
    _until: float = 0.0
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self) -> Mapping[str, Part]:
        """Return what was seen last, or look."""
        async with self._turn:
            if time.monotonic() >= self._until:
                self._found = await self.look()
                well = all(part.ok for part in self._found.values())
                self._until = time.monotonic() + (self.good_s if well else self.bad_s)
            return self._found

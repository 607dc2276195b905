"""Rotate the journal, which only the gateway, holding its lock, may do; check its chain."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.methods.people import RULES
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams
from bot.intake.results.gateway import RotatedAnswer, VerifiedAnswer
from core.audit.rotate import Rotated
from core.audit.verify import verify

Rotate = Callable[[str], Awaitable[Rotated]]


@dataclass(frozen=True, slots=True)
class AuditMethods(Group):
    """The methods about the journal; ``rotate`` takes the name of the caller."""

    rotate_journal: Rotate
    path: Path
    _reading: asyncio.Lock = field(default_factory=asyncio.Lock)

    @handles(
        "audit.rotate",
        RULES,
        "End the journal's segment and begin the next; the chain continues.",
        of_all=True,
    )
    async def rotate(self, _params: NoParams, caller: Caller) -> RotatedAnswer:
        """Rotate the journal."""
        return RotatedAnswer.of(await self.rotate_journal(caller.ref))

    @handles(
        "audit.verify", READS, "Check the journal's hash chain over all segments.", of_all=True
    )
    async def verify(self, _params: NoParams, _caller: Caller) -> VerifiedAnswer:
        """Check the whole journal in a thread; two at a time would only take twice as long."""
        async with self._reading:
            return VerifiedAnswer.of(await asyncio.to_thread(verify, self.path))

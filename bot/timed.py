"""Say what is done by time; ``bot.clock`` says when."""

import time
from dataclasses import dataclass

from bot.health import Health
from bot.recovery import recover
from bot.settings import Settings
from core.gate import Gate
from core.ports import Journal
from core.store import Store, approvals, prune, replicas

_BATCH = 500
_PRUNE_BATCH = 1000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TimedWork:
    """The gateway's work by time; what ``bot.clock.Work`` asks for."""

    gate: Gate
    store: Store
    journal: Journal
    health: Health
    settings: Settings

    async def due(self) -> int | None:
        """End and repeat all that is due; return the next time (epoch ms)."""
        await self.gate.expire()
        while await self.gate.broker.remind(_BATCH) >= _BATCH:
            pass
        return await self.store.read(approvals.next_wake)

    async def beat(self) -> None:
        """Say that this gateway lives, and look for others that died."""
        owner = self.gate.execution.owner
        await self.store.write(replicas.heartbeat, owner, replicas.LEASE_MS)
        await recover(self.store, self.journal, owner)

    async def retain(self) -> None:
        """Forget what is older than ``store.retentionDays`` and over."""
        before = round(time.time() * 1000) - self.settings.store.retention_days * _DAY_MS
        idle = self.gate.rulebook.idle_ms
        while await self.store.write(prune, before, _PRUNE_BATCH, idle) >= _PRUNE_BATCH:
            pass

    async def watch(self) -> None:
        """Log what is wrong."""
        await self.health.watch()

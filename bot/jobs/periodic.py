"""List the periodic jobs; ``bot.jobs.scheduler`` decides when they run."""

from dataclasses import dataclass

from bot.health.report import Health
from bot.jobs.recovery import Heart
from bot.settings import Settings
from core.gate.gate import Gate
from core.store import Store, approvals, prune
from core.store.engine.clock import now_ms

_BATCH = 500
_PRUNE_BATCH = 1000
_DAY_MS = 86_400_000


@dataclass(frozen=True, slots=True)
class TimedWork:
    """The gateway's timed work (implements ``bot.jobs.scheduler.Work``)."""

    gate: Gate
    store: Store
    heart: Heart
    health: Health
    settings: Settings

    async def due(self) -> int | None:
        """End and repeat what is due; return in how many ms something is due next."""
        await self.gate.expire()
        while await self.store.write(approvals.remind_due, _BATCH) >= _BATCH:
            pass
        return await self.store.read(approvals.wake_in)

    async def beat(self) -> None:
        """Record that this gateway is alive, and look for others that died."""
        await self.heart.beat()

    async def retain(self) -> None:
        """Delete what has ended and is older than ``store.retentionDays``."""
        before = await self.store.read(now_ms) - self.settings.store.retention_days * _DAY_MS
        idle = self.gate.rulebook.idle_ms
        while await self.store.write(prune, before, _PRUNE_BATCH, idle) >= _PRUNE_BATCH:
            pass

    async def watch(self) -> None:
        """Check the gateway's health and log what is wrong."""
        await self.health.watch()

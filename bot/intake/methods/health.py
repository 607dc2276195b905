"""Report the gateway's health."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import Group, handles
from bot.intake.registry.params import NoParams
from bot.intake.results.gateway import HealthAnswer


@dataclass(frozen=True, slots=True)
class HealthMethods(Group):
    """The method about health; ``health`` answers it."""

    health: Callable[[], Awaitable[dict[str, object]]]

    @handles("health.get", READS, "Report the gateway's health.", urgent=True)
    async def get_health(self, _params: NoParams, _caller: Caller) -> HealthAnswer:
        """Return the gateway's health."""
        return HealthAnswer.model_validate(await self.health())

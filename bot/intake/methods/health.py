"""Report the gateway's health."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import NoParams
from bot.intake.results.gateway import HealthAnswer


@dataclass(frozen=True, slots=True)
class HealthMethods:
    """The method about health; ``health`` answers it."""

    health: Callable[[], Awaitable[dict[str, object]]]

    def methods(self) -> Iterable[AnyMethod]:
        """Return the method."""
        return (
            Method(
                name="health.get",
                params=NoParams,
                scopes=READS,
                handler=self.get_health,
                summary="Report the gateway's health.",
                result=HealthAnswer,
                urgent=True,
            ),
        )

    async def get_health(self, _params: NoParams, _caller: Caller) -> HealthAnswer:
        """Return the gateway's health."""
        return HealthAnswer.model_validate(await self.health())

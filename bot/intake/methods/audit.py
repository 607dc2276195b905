"""Rotate the journal: the gateway holds it, so nobody else may."""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from bot.intake.callers.caller import Caller
from bot.intake.methods.people import RULES
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import NoParams
from bot.intake.results.gateway import RotatedAnswer
from core.audit.rotate import Rotated

Rotate = Callable[[str], Awaitable[Rotated]]


@dataclass(frozen=True, slots=True)
class AuditMethods:
    """The methods about the journal; ``rotate`` takes who asked for it."""

    rotate_journal: Rotate

    def methods(self) -> Iterable[AnyMethod]:
        """Return the methods."""
        return (
            Method(
                name="audit.rotate",
                params=NoParams,
                scopes=RULES,
                handler=self.rotate,
                summary="End the journal's segment and begin the next; the chain continues.",
                result=RotatedAnswer,
                of_all=True,
            ),
        )

    async def rotate(self, _params: NoParams, caller: Caller) -> RotatedAnswer:
        """Rotate."""
        return RotatedAnswer.of(await self.rotate_journal(caller.ref))

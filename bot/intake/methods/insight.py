"""Return what prompts cost."""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from bot.intake.callers.caller import Caller
from bot.intake.methods.approvals import READS
from bot.intake.registry.method import AnyMethod, Method
from bot.intake.registry.params import NoParams
from bot.intake.results.insight import InsightAnswer
from core.store import Store
from core.store.views.insight import Insight, insight

DAYS = 30
_GOOD_S = 60.0


@dataclass(slots=True)
class InsightMethods:
    """The method about what prompts cost."""

    store: Store
    zone: tzinfo = UTC
    _known: Insight | None = None
    _until: float = 0.0
    _counting: asyncio.Task[Insight] | None = field(default=None)

    def methods(self) -> Iterable[AnyMethod]:
        """Return the method."""
        return (
            Method(
                name="insight.get",
                params=NoParams,
                scopes=READS,
                handler=self.get,
                summary="Count the prompts of the last 30 days by day and outcome, and by agent.",
                result=InsightAnswer,
                note="what was counted up to a minute ago, at once",
                of_all=True,
            ),
        )

    async def get(self, _params: NoParams, _caller: Caller) -> InsightAnswer:
        """Return what was counted last; only the first call waits for the count."""
        if time.monotonic() >= self._until and self._counting is None:
            self._counting = asyncio.create_task(self._count())
        if self._known is None and self._counting is not None:
            return InsightAnswer.of(await asyncio.shield(self._counting))
        assert self._known is not None  # noqa: S101 - narrowed above
        return InsightAnswer.of(self._known)

    async def _count(self) -> Insight:
        try:
            offset = datetime.now(self.zone).utcoffset()
            offset_ms = 0 if offset is None else round(offset.total_seconds() * 1000)
            self._known = await self.store.read_beside(insight, DAYS, offset_ms)
            self._until = time.monotonic() + _GOOD_S
            return self._known
        finally:
            self._counting = None

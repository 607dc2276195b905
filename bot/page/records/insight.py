"""Show what prompts cost, in plots that need no script, and the policy that would avoid some."""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from starlette.responses import Response

from bot.intake.registry.method import Table, invoke
from bot.page.records.plots import HEIGHT, LEFT, OUTCOMES, WIDTH, date_of, filled, medians, stacked
from bot.page.render import Renderer
from bot.page.visit import Visit, page
from bot.policy_tools.suggest import Report
from bot.policy_tools.suggest_report import printable, to_json
from core.errors import SaysoError

_log = logging.getLogger(__name__)
_DAYS = 30
_MOST_COSTS = 8
_MOST_ENTRIES = 12
_GOOD_S = 600.0
_PATIENCE_S = 0.05


@dataclass(slots=True)
class Costs:
    """What programs and rules cost in prompts, counted in a thread and kept for ten minutes."""

    look: Callable[[], Report]
    known: Mapping[str, Any] | None = None
    _until: float = 0.0
    _looking: asyncio.Task[None] | None = field(default=None)

    def now(self) -> Mapping[str, Any] | None:
        """Return what was found last, and count again in the background if that is old."""
        if time.monotonic() >= self._until and self._looking is None:
            self._looking = asyncio.create_task(self._look())
        return self.known

    async def _look(self) -> None:
        try:
            found = await asyncio.to_thread(self.look)
            entries = [one for one in found.suggestions if printable(one)]
            self.known = {**to_json(found), "entries": len(entries)}
        except SaysoError as failure:
            _log.warning("what prompts cost is not known: %s", failure)
        finally:
            self._until = time.monotonic() + _GOOD_S
            self._looking = None


@dataclass(frozen=True, slots=True)
class InsightPages:
    """The page about what prompts cost."""

    table: Table
    render: Renderer
    costs: Costs

    async def show(self, visit: Visit) -> Response:
        """Show the plots; what is not counted yet appears when the page is opened again."""
        found = await self._counted(visit)
        # As the method does: of all agents or of none.
        costs = self.costs.now() if visit.who.sees_all else {}
        days = [] if found is None else filled(found["days"], self._today(), _DAYS)
        text = self.render.text(
            "insight.html",
            visit=visit,
            here="insight",
            found=found,
            costs=costs,
            days=days,
            stacked=stacked(days),
            medians=medians(days),
            outcomes=OUTCOMES,
            date_of=date_of,
            left=LEFT,
            width=WIDTH,
            height=HEIGHT,
            most=_MOST_COSTS,
            most_entries=_MOST_ENTRIES,
        )
        return page(text)

    async def _counted(self, visit: Visit) -> Mapping[str, Any] | None:
        """Return the counts; nothing while the first count is under way."""
        counting = asyncio.ensure_future(invoke(self.table["insight.get"], {}, visit.who))
        done, _ = await asyncio.wait({counting}, timeout=_PATIENCE_S)
        if not done:
            counting.add_done_callback(_heard)
            return None
        found: Any = counting.result()
        return dict(found)

    def _today(self) -> int:
        return datetime.now(self.render.zone).date().toordinal() - _EPOCH


_EPOCH = datetime(1970, 1, 1).date().toordinal()  # noqa: DTZ001 - a date, of no zone


def _heard(counting: asyncio.Future[Any]) -> None:
    if not counting.cancelled() and counting.exception() is not None:
        _log.warning("prompts could not be counted: %s", counting.exception())

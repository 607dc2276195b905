"""Notify people once a week whether allowlist entries would have saved them prompts.

::

    Monday 09:00, or the next start after it ─▶ due? ─▶ week_of, in a thread ─▶ worth it? ─▶ sent
                                                                     suggest-week.json ◀─┘

The report goes where the gateway's alarms go. The week is recorded in the file once it was
processed, and in the outbox's key, so that neither a restart nor a second gateway on the same store
repeats it.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field

from bot.jobs.scheduler import Clock
from bot.jobs.week_time import WeekTime
from bot.policy_tools.weekly_suggest import Patience, notice_of, week_of
from bot.settings import Settings
from core.errors import SaysoError
from core.files.state_file import StateFile

_log = logging.getLogger(__name__)
NAME = "suggest-week.json"
"""The file's name in the home."""

Notify = Callable[[str, str], Awaitable[None]]
"""Sends people a message under a key, once for each key."""


def _wall() -> datetime:
    return datetime.now(UTC)


class _File(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore")
    week: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]


@dataclass(frozen=True, slots=True)
class WeeklyReport:
    """Processes the week that is due, once; ``notify`` sends people a message."""

    settings: Settings
    notify: Notify
    at: WeekTime
    patience: Patience = field(default_factory=Patience)
    now: Callable[[], datetime] = _wall
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Process a week that is due, if not done yet; a failure is retried at the next start."""
        async with self._turn:
            week, known = self.at.last(self.now()).date().isoformat(), self._known()
            if known is None:  # the first start: nothing was missed
                self._keep(week)
            elif known != week:  # even if the machine's clock was once ahead
                await self._look_at(week)

    async def _look_at(self, week: str) -> None:
        try:
            words = await asyncio.to_thread(self._found)
        except asyncio.CancelledError:
            self.patience.stopped.set()
            raise
        except SaysoError as failure:
            _log.warning("cannot process the week's prompts: %s", failure)
            return
        if words:
            _log.info("%s", words)
            await self.notify(words, f"suggest:{week}")
        self._keep(week)

    def _found(self) -> str:
        found = week_of(self.settings, self.patience)
        _log.info("processed %d prompts of the week", found.all.prompts)
        return notice_of(found, self.settings.approvals.exec.suggest.least)

    @property
    def _file(self) -> StateFile[_File]:
        return StateFile(self.settings.home / NAME, _File, durable=True)

    def _known(self) -> str | None:
        found = self._file.read()
        return None if found is None else found.week

    def _keep(self, week: str) -> None:
        self._file.write({"week": week})


def every_week(clock: Clock, notify: Notify, settings: Settings) -> None:
    """Schedule the report each week, and a missed one soon after this start, unless it is off."""
    if settings.approvals.exec.suggest.weekly:
        at = WeekTime(ZoneInfo(settings.approvals.exec.zone))
        report = WeeklyReport(settings, notify, at)
        clock.weekly("suggest", at, report.run)

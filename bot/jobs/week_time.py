"""Define a moment of each week, in people's time zone."""

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

_WEEK = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class WeekTime:
    """A moment of each week; weekday 0 is Monday."""

    zone: tzinfo
    weekday: int = 0
    hour: int = 9
    minute: int = 0
    second: int = 0

    def last(self, now: datetime) -> datetime:
        """Return the last such moment that is not after ``now``."""
        here = now.astimezone(self.zone)
        day = here - timedelta(days=(here.weekday() - self.weekday) % 7)
        at = day.replace(hour=self.hour, minute=self.minute, second=self.second, microsecond=0)
        return at if at <= here else at - _WEEK

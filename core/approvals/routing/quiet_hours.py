"""Compute the hours in which nobody is notified (``approvals.exec.quietHours``)."""

from dataclasses import dataclass
from datetime import datetime, time, timedelta
from zoneinfo import ZoneInfo


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of the day to another in a zone, over midnight where ``until`` is earlier.

    The clocks' change does not stretch them oddly: a time that comes twice counts the first time,
    one that is skipped counts as that much later.
    """

    since: time
    until: time
    zone: ZoneInfo

    def hold(self, at_ms: int) -> bool:
        """Return whether a moment (epoch ms) is within them."""
        today = datetime.fromtimestamp(at_ms / 1000, self.zone).date()
        over_midnight = self.until <= self.since
        for day in (today - timedelta(days=1), today):
            last = day + timedelta(days=1) if over_midnight else day
            begins = datetime.combine(day, self.since, self.zone).timestamp() * 1000
            ends = datetime.combine(last, self.until, self.zone).timestamp() * 1000
            if begins <= at_ms < ends:
                return True
        return False

    @property
    def words(self) -> str:
        """Return until when nobody is woken: ``quiet hours until 07:00 Europe/Berlin``."""
        return f"quiet hours until {self.until:%H:%M} {self.zone.key}"

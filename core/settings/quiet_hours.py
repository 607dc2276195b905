"""Settings for ``approvals.exec.quietHours``."""

from typing import Annotated, Self
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import AfterValidator, Field, model_validator

from core.settings.base import Section, Word


def _zone(name: str) -> str:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            "is not a time zone known to this machine; use one such as Europe/Berlin"
        ) from error
    return name


DayTime = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]
"""A time of the day, ``HH:MM``."""
Zone = Annotated[Word, AfterValidator(_zone)]
"""A time zone that this machine knows."""


class QuietHoursSection(Section):
    """``approvals.exec.quietHours``: when nobody is woken."""

    since: DayTime = Field(default="22:00", alias="from", description="when they begin, as HH:MM")
    until: DayTime = Field(
        default="07:00", description="when they end; earlier than from: on the next day"
    )
    zone: Zone = Field(default="UTC", description="the time zone of both, such as Europe/Berlin")

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        if self.since == self.until:
            raise ValueError("begin and end at the same time; leave quietHours out, or change one")
        return self

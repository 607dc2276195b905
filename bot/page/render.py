"""Render templates: every value is escaped, and what is masked stays masked.

Text from outside comes as ``Redacted`` or from answers of methods, which are redacted where they
are made; Jinja escapes both for HTML.
"""

from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from bot.page.assets import Assets
from channels.cards.text import duration
from core.text.render import Redacted, redact, show_argv

_FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True)
class Renderer:
    """The templates, with the clock of the people who read them."""

    assets: Assets
    zone: tzinfo
    folder: Path = _FOLDER
    _jinja: Environment = field(init=False)

    def __post_init__(self) -> None:
        """Create the environment once."""
        made = Environment(
            loader=FileSystemLoader(self.folder),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            finalize=_shown,
        )
        made.filters |= {"day_time": self.day_time, "clock": self.clock, "span": duration}
        made.filters |= {"argv": lambda words: show_argv(tuple(words)), "shown": redact}
        made.globals |= {"asset": self.assets.url, "version": self.assets.version}
        object.__setattr__(self, "_jinja", made)

    def text(self, template: str, **values: object) -> str:
        """Return a template filled with values."""
        return self._jinja.get_template(template).render(values)

    def day_time(self, at_ms: int) -> str:
        """Return ``2026-11-24 05:51:55`` in the zone of the people."""
        return f"{self._local(at_ms):%Y-%m-%d %H:%M:%S}"

    def clock(self, at_ms: int) -> str:
        """Return ``05:51:55 UTC``."""
        return f"{self._local(at_ms):%H:%M:%S %Z}"

    def _local(self, at_ms: int) -> datetime:
        return datetime.fromtimestamp(at_ms / 1000, self.zone)


def _shown(value: object) -> object:
    """Return a value as Jinja escapes it; ``None`` becomes nothing, never the word."""
    if isinstance(value, Redacted):
        return value.text
    return "" if value is None else value
